//! A key store with a directory of files.
//!
//! ```text
//! KEYS                  {"format":"recount-keys","version":1,"id":"<uuid>","check":"v1.<Base64>"}
//! LOCK                  locked while something is written
//! <session>.key         v1.<Base64>      the session's key, wrapped by the master key
//! <session>.<name>      v1.<Base64>      a text of the side store, sealed under the session's key
//! ```
//!
//! Each file is written under another name, synced, and renamed. The check is sealed by the master
//! key.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::guard::guard_keys;
use super::{Error, KeyStore, MasterKey, SessionKey};
use crate::BoxFuture;
use crate::files::private;
use crate::files::private::{anew, private};

const MARKER: &str = "KEYS";
const LOCK: &str = "LOCK";
const DRAFT: &str = "draft";
const JOURNAL_MARKER: &str = "JOURNAL";
const FORMAT: &str = "recount-keys";
const VERSION: u64 = 1;
const KEY: &str = "key";

/// The maximum length of a file, in bytes. Texts are as long as a resumption handle.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// A key store in its own directory, outside every journal, readable only for its owner.
///
/// Several processes may have it open at the same time. The name of a text has letters, digits, `-`
/// and `_`, and is not `key`.
///
/// ```
/// use recount_journal::block_on;
/// use recount_journal::seal::{FileKeyStore, KeyStore, MasterKey};
/// use uuid::Uuid;
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("keys");
/// let keys = FileKeyStore::create(&path, MasterKey::from_text(&"0f".repeat(32))?)?;
/// let sealed = block_on(keys.create_key(Uuid::from_u128(7)))?.seal_text("a", "b")?;
///
/// let again = FileKeyStore::open(&path, MasterKey::from_text(&"0f".repeat(32))?)?;
/// let key = block_on(again.key(Uuid::from_u128(7)))?.ok_or("the key is gone")?;
/// assert_eq!(*key.open_text("a", &sealed)?, "b");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileKeyStore {
    path: PathBuf,
    master: MasterKey,
}

#[derive(Deserialize, Serialize)]
struct Marker {
    format: String,
    version: u64,
    id: Uuid,
    check: String,
}

impl FileKeyStore {
    /// Opens the key store at `path`, and creates it if there is none.
    ///
    /// # Errors
    /// As [`open`](Self::open), but for [`Error::Missing`].
    pub fn create(path: impl Into<PathBuf>, master: MasterKey) -> Result<Self, Error> {
        let path = path.into();
        guard_keys(&path)?;
        Self::create_insecure(path, master)
    }

    /// Opens the key store at `path`.
    ///
    /// # Errors
    /// [`Error::Insecure`] if users other than its owner can write to the directory, or read or
    /// write a file in it; [`Error::WrongMasterKey`]; [`Error::InsideJournal`]; [`Error::Missing`];
    /// [`Error::NotAKeyStore`]; [`Error::Io`].
    pub fn open(path: impl Into<PathBuf>, master: MasterKey) -> Result<Self, Error> {
        let path = path.into();
        guard_keys(&path)?;
        Self::open_insecure(path, master)
    }

    /// Like [`create`](Self::create), but also works if other users can read or write the
    /// directory.
    ///
    /// ```
    /// use recount_journal::seal::{FileKeyStore, MasterKey};
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("keys");
    /// let master = || MasterKey::from_text(&"0f".repeat(32));
    /// FileKeyStore::create_insecure(&path, master()?)?;
    /// FileKeyStore::open_insecure(&path, master()?)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`create`](Self::create), but for [`Error::Insecure`].
    pub fn create_insecure(path: impl Into<PathBuf>, master: MasterKey) -> Result<Self, Error> {
        let path = path.into();
        outside_journals(&path)?;
        if read_marker(&path)?.is_none() {
            make(&path, &master)?;
        }
        Self::open_insecure(path, master)
    }

    /// Like [`open`](Self::open), but also works if other users can read or write the directory.
    ///
    /// # Errors
    /// As [`open`](Self::open), but for [`Error::Insecure`].
    pub fn open_insecure(path: impl Into<PathBuf>, master: MasterKey) -> Result<Self, Error> {
        let path = path.into();
        outside_journals(&path)?;
        let Some(marker) = read_marker(&path)? else {
            return Err(Error::Missing { path });
        };
        if !master.made(marker.id, &marker.check) {
            return Err(Error::WrongMasterKey { path });
        }
        Ok(Self { path, master })
    }

    /// The directory of the key store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn file(&self, session: Uuid, name: &str) -> PathBuf {
        self.path.join(format!("{session}.{name}"))
    }

    fn read_key(&self, session: Uuid) -> Result<Option<SessionKey>, Error> {
        let wrapped = read(&self.file(session, KEY))?;
        wrapped
            .map(|wrapped| self.master.unwrap(session, &wrapped))
            .transpose()
    }

    fn make_key(&self, session: Uuid) -> Result<SessionKey, Error> {
        let _lock = lock(&self.path)?;
        // Another process may have created it before this one got the lock.
        if let Some(key) = self.read_key(session)? {
            return Ok(key);
        }
        let key = SessionKey::generate(session)?;
        let wrapped = self.master.wrap(&key)?;
        write(&self.path, &self.file(session, KEY), wrapped.as_bytes())?;
        Ok(key)
    }

    /// Returns the file of a text. It rejects the name of the key's file, which would replace the
    /// key and lose everything that it seals.
    fn text_file(&self, session: Uuid, name: &str) -> Result<PathBuf, Error> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if name == KEY || name.is_empty() || !name.bytes().all(fits) {
            let what = format!("a text cannot have the name {name:?}");
            let refused = io::Error::new(io::ErrorKind::InvalidInput, what);
            return Err(Error::io("name a text of the side store")(refused));
        }
        Ok(self.file(session, name))
    }

    fn write_kept(&self, session: Uuid, name: &str, sealed: &str) -> Result<(), Error> {
        let path = self.text_file(session, name)?;
        let _lock = lock(&self.path)?;
        write(&self.path, &path, sealed.as_bytes())
    }

    fn remove_kept(&self, session: Uuid, name: &str) -> Result<(), Error> {
        let path = self.text_file(session, name)?;
        match fs::remove_file(&path).and_then(|()| sync_directory(&self.path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io(format!("remove {}", path.display()))(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

impl FileKeyStore {
    /// Removes the key first: its sealed data is useless without it.
    fn remove_all(&self, session: Uuid) -> Result<(), Error> {
        let _lock = lock(&self.path)?;
        let doing = || format!("erase session {session} from {}", self.path.display());
        let key = self.file(session, KEY);
        let of_session = format!("{session}.");
        let removed = (|| {
            remove_if_there(&key)?;
            for entry in fs::read_dir(&self.path)? {
                let entry = entry?;
                if entry.file_name().to_string_lossy().starts_with(&of_session) {
                    remove_if_there(&entry.path())?;
                }
            }
            sync_directory(&self.path)
        })();
        removed.map_err(Error::io(doing()))
    }
}

/// True if there is a file. Its content is not read.
fn is_there(path: &Path) -> Result<bool, Error> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io(format!("look for {}", path.display()))(error)),
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

impl KeyStore for FileKeyStore {
    fn key(&self, session: Uuid) -> BoxFuture<'_, Result<Option<SessionKey>, Error>> {
        Box::pin(async move { self.read_key(session) })
    }

    fn has_key(&self, session: Uuid) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(async move { is_there(&self.file(session, KEY)) })
    }

    fn create_key(&self, session: Uuid) -> BoxFuture<'_, Result<SessionKey, Error>> {
        Box::pin(async move {
            match self.read_key(session)? {
                Some(key) => Ok(key),
                None => self.make_key(session),
            }
        })
    }

    fn keep<'a>(
        &'a self,
        session: Uuid,
        name: &'static str,
        sealed: &'a str,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { self.write_kept(session, name, sealed) })
    }

    fn kept(
        &self,
        session: Uuid,
        name: &'static str,
    ) -> BoxFuture<'_, Result<Option<String>, Error>> {
        Box::pin(async move { read(&self.text_file(session, name)?) })
    }

    fn discard(&self, session: Uuid, name: &'static str) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move { self.remove_kept(session, name) })
    }

    fn erase(&self, session: Uuid) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move { self.remove_all(session) })
    }
}

/// Rejects a path inside a journal, also through links.
fn outside_journals(path: &Path) -> Result<(), Error> {
    let doing = || format!("find out where {} is", path.display());
    let mut whole = std::path::absolute(path).map_err(Error::io(doing()))?;
    // A missing path is resolved through its nearest existing ancestor.
    while !whole.exists() && whole.pop() {}
    let whole = fs::canonicalize(&whole).map_err(Error::io(doing()))?;
    match whole
        .ancestors()
        .find(|it| it.join(JOURNAL_MARKER).is_file())
    {
        Some(journal) => Err(Error::InsideJournal {
            path: path.to_owned(),
            journal: journal.to_owned(),
        }),
        None => Ok(()),
    }
}

fn make(path: &Path, master: &MasterKey) -> Result<(), Error> {
    let doing = || format!("make the directory {}", path.display());
    private().create(path).map_err(Error::io(doing()))?;
    let parent = path.parent().filter(|it| it.is_dir());
    parent
        .map_or(Ok(()), sync_directory)
        .map_err(Error::io(doing()))?;
    let _lock = lock(path)?;
    // Another process may have created it before this one got the lock.
    if read_marker(path)?.is_some() {
        return Ok(());
    }
    let others: Vec<String> = fs::read_dir(path)
        .map_err(Error::io(format!("list {}", path.display())))?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| name != LOCK && name != DRAFT)
        .take(5)
        .collect();
    if !others.is_empty() {
        let found = format!("no file {MARKER}, but {}", others.join(", "));
        return Err(not_a_key_store(path, found));
    }
    let id = Uuid::new_v4();
    let marker = Marker {
        format: FORMAT.to_owned(),
        version: VERSION,
        id,
        check: master.check(id),
    };
    let mut bytes = serde_json::to_vec(&marker)
        .map_err(io::Error::from)
        .map_err(Error::io("write the marker of a key store"))?;
    bytes.push(b'\n');
    write(path, &path.join(MARKER), &bytes)
}

fn read_marker(path: &Path) -> Result<Option<Marker>, Error> {
    let Some(text) = read(&path.join(MARKER))? else {
        return Ok(None);
    };
    let found = || format!("a marker {:?}", text.chars().take(80).collect::<String>());
    match serde_json::from_str::<Marker>(&text) {
        Ok(marker) if marker.format == FORMAT && marker.version == VERSION => Ok(Some(marker)),
        Ok(_) | Err(_) => Err(not_a_key_store(path, found())),
    }
}

fn read(path: &Path) -> Result<Option<String>, Error> {
    match private::read(path, FILE_BYTES_MAX) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(not_a_key_store(path, "it is not text".to_owned())),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(format!("read {}", path.display()))(error)),
    }
}

/// Writes a file atomically. The caller holds the lock, so no other process uses the draft.
fn write(directory: &Path, path: &Path, content: &[u8]) -> Result<(), Error> {
    let draft = directory.join(DRAFT);
    let written = (|| {
        let mut file = anew(&draft)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        sync_directory(directory)
    })();
    written.map_err(Error::io(format!("write {}", path.display())))
}

/// Makes the names in a directory durable.
fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn lock(path: &Path) -> Result<File, Error> {
    let doing = || format!("lock the key store at {}", path.display());
    let mut options = private::options();
    options.create(true).truncate(false).write(true);
    let file = private::regular(&options, &path.join(LOCK)).map_err(Error::io(doing()))?;
    file.lock().map_err(Error::io(doing()))?;
    Ok(file)
}

fn not_a_key_store(path: &Path, found: String) -> Error {
    Error::NotAKeyStore {
        path: path.to_owned(),
        found,
    }
}
