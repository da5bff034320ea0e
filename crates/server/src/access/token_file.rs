//! The file of tokens: private to its user, replaced atomically, read whole.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::tokens::{StoredToken, TokenError};

/// The maximum size of the file, in bytes: about ten thousand tokens.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// The maximum number of symbolic links in front of the file, as Linux follows them.
const LINKS_MAX: usize = 40;

const FORMAT: &str = "recount-tokens";
const VERSION: u32 = 1;

/// The content of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    format: String,
    version: u32,
    tokens: Vec<StoredToken>,
}

/// The identity of a version of the file: it changes when the file is replaced or written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    length: u64,
    modified: Option<std::time::SystemTime>,
    inode: u64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Stamp {
        Stamp {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            inode: inode(metadata),
        }
    }

    /// The stamp of the file now. That of no file is the default.
    pub(super) fn now(path: &Path) -> Stamp {
        fs::metadata(path).map_or_else(|_| Stamp::default(), |it| Stamp::of(&it))
    }
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_metadata: &Metadata) -> u64 {
    0
}

/// Reads the tokens. A missing file has none.
pub(super) fn read(path: &Path) -> Result<(Vec<StoredToken>, Stamp), TokenError> {
    let failed = |error: io::Error| TokenError::io("read", path, &error);
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((Vec::new(), Stamp::default()));
        }
        file => file.map_err(failed)?,
    };
    let metadata = file.metadata().map_err(failed)?;
    expect_private(path, &metadata)?;
    let mut text = String::new();
    let mut bounded = file.take(FILE_BYTES_MAX + 1);
    bounded.read_to_string(&mut text).map_err(failed)?;
    let wrong = |what: String| TokenError::Malformed {
        path: path.to_owned(),
        what,
    };
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(wrong(format!("more than {FILE_BYTES_MAX} bytes")));
    }
    // The error of serde names the place and the kind of a value; hashes are never in it.
    let content: Content = serde_json::from_str(&text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        wrong(format!(
            "not the JSON of a token file at line {line}, column {column}"
        ))
    })?;
    if content.format != FORMAT || content.version != VERSION {
        return Err(wrong(format!(
            "expected the format {FORMAT} {VERSION}, found {:?} {}",
            content.format, content.version
        )));
    }
    Ok((content.tokens, Stamp::of(&metadata)))
}

/// Replaces the file atomically, and not the links to it. Only its user can read it.
pub(super) fn write(path: &Path, tokens: Vec<StoredToken>) -> Result<(), TokenError> {
    let failed = |error: io::Error| TokenError::io("write", path, &error);
    let content = Content {
        format: FORMAT.to_owned(),
        version: VERSION,
        tokens,
    };
    let text = serde_json::to_string_pretty(&content).map_err(|error| failed(error.into()))?;
    let path = &followed(path);
    let draft = beside(path, ".new");
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    let mut options = private();
    let mut file = options.create_new(true).open(&draft).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.write_all(b"\n").map_err(failed)?;
    file.sync_all().map_err(failed)?;
    drop(file);
    fs::rename(&draft, path).map_err(failed)
}

/// The lock of a change, which ends when the value is dropped.
pub(super) fn lock(path: &Path) -> Result<File, TokenError> {
    let lock = beside(&followed(path), ".lock");
    let failed = |error: io::Error| TokenError::io("lock", &lock, &error);
    let mut options = private();
    let file = options.create(true).truncate(false).open(&lock);
    let file = file.map_err(failed)?;
    file.lock().map_err(failed)?;
    Ok(file)
}

/// The file itself, behind symbolic links. It need not exist yet.
fn followed(path: &Path) -> PathBuf {
    let mut file = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = fs::read_link(&file) else {
            break;
        };
        file = file.parent().unwrap_or(Path::new("")).join(target);
    }
    file
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Rejects a file that other users can read or write, or that one of them made for root.
fn expect_private(path: &Path, metadata: &Metadata) -> Result<(), TokenError> {
    if !metadata.is_file() {
        return Err(TokenError::Malformed {
            path: path.to_owned(),
            what: "not a regular file".to_owned(),
        });
    }
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::MetadataExt::mode(metadata) & 0o777;
        if mode & 0o077 != 0 {
            return Err(TokenError::Exposed {
                path: path.to_owned(),
                mode,
            });
        }
        let owner = std::os::unix::fs::MetadataExt::uid(metadata);
        // Root can read the private file of every user, and would admit the tokens in it.
        if owner != 0 && rustix::process::geteuid().is_root() {
            return Err(TokenError::NotYours {
                path: path.to_owned(),
                owner,
            });
        }
    }
    Ok(())
}
