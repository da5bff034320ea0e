//! The place of a bundle: a directory or a zip file, which gets its name when it is complete.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use recount_journal::Hash;
use recount_text::files::draft;
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// The list of all other files with their SHA-256, as `sha256sum` writes and checks it.
pub(crate) const MANIFEST: &str = "MANIFEST.sha256";

/// The files of a bundle that is being written. Dropping it removes the draft.
pub(super) struct Files {
    path: PathBuf,
    draft: PathBuf,
    place: Place,
    /// The SHA-256 of each complete file, by its name.
    sums: BTreeMap<String, Hash>,
    current: Option<Current>,
    renamed: bool,
}

enum Place {
    /// A directory, with the file that is being written.
    Directory(Option<BufWriter<File>>),
    Zip(Box<ZipWriter<BufWriter<File>>>),
}

/// The file that is being written.
struct Current {
    name: String,
    sum: Sha256,
}

impl Files {
    /// Begins a draft of the bundle at `path`: a zip file if the name ends with `.zip`, otherwise a
    /// directory.
    ///
    /// Fails with [`ErrorKind::AlreadyExists`] if there is something else than an empty directory.
    pub(super) fn create(path: &Path) -> io::Result<Files> {
        check_vacant(path)?;
        let is_zip = path.extension().is_some_and(|it| it == "zip");
        let (draft, place) = if is_zip {
            let (file, draft) = draft::beside(path)?;
            let zip = ZipWriter::new(BufWriter::new(file)).set_auto_large_file();
            (draft, Place::Zip(Box::new(zip)))
        } else {
            (draft_folder(path)?, Place::Directory(None))
        };
        Ok(Files {
            path: path.to_owned(),
            draft,
            place,
            sums: BTreeMap::new(),
            current: None,
            renamed: false,
        })
    }

    /// Begins a file. What is written from now on is its content.
    pub(super) fn begin(&mut self, name: &str) -> io::Result<()> {
        self.end()?;
        match &mut self.place {
            Place::Directory(file) => {
                let path = self.draft.join(name);
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                *file = Some(BufWriter::new(File::create_new(path)?));
            }
            Place::Zip(zip) => {
                // The same contents give the same bytes, so no time of writing is in the zip file.
                let options = SimpleFileOptions::default()
                    .compression_method(CompressionMethod::Deflated)
                    .last_modified_time(DateTime::default())
                    .unix_permissions(0o644);
                zip.start_file(name, options)?;
            }
        }
        self.current = Some(Current {
            name: name.to_owned(),
            sum: Sha256::new(),
        });
        Ok(())
    }

    /// Writes a whole file.
    pub(super) fn put(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.begin(name)?;
        self.write_all(content)?;
        self.end()
    }

    /// Completes the file that is being written.
    pub(super) fn end(&mut self) -> io::Result<()> {
        if let Place::Directory(file) = &mut self.place
            && let Some(mut file) = file.take()
        {
            file.flush()?;
        }
        if let Some(Current { name, sum }) = self.current.take() {
            self.sums
                .insert(name, Hash::from_bytes(sum.finalize().into()));
        }
        Ok(())
    }

    /// Writes the manifest, and gives the draft its name. Returns the hash of the manifest.
    pub(super) fn finish(mut self) -> io::Result<Hash> {
        self.end()?;
        let line = |(name, sum): (&String, &Hash)| format!("{sum}  {name}\n");
        let manifest: String = self.sums.iter().map(line).collect();
        self.put(MANIFEST, manifest.as_bytes())?;
        let whole = std::mem::replace(&mut self.place, Place::Directory(None));
        check_vacant(&self.path)?;
        match whole {
            Place::Directory(_) => {
                // A system may refuse to rename a directory to one that exists.
                let _ = fs::remove_dir(&self.path);
                fs::rename(&self.draft, &self.path)?;
                self.renamed = true;
            }
            Place::Zip(zip) => {
                let file = zip.finish()?.into_inner().map_err(io::Error::from)?;
                file.sync_all()?;
                // Unlike a rename, a link fails if the file exists by now.
                if fs::hard_link(&self.draft, &self.path).is_err() {
                    check_vacant(&self.path)?;
                    fs::rename(&self.draft, &self.path)?;
                    self.renamed = true;
                }
            }
        }
        Ok(Hash::of_object(manifest.as_bytes()))
    }
}

impl Write for Files {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.place {
            Place::Directory(Some(file)) => file.write(bytes)?,
            Place::Directory(None) => return Err(io::Error::other("no file was begun")),
            Place::Zip(zip) => zip.write(bytes)?,
        };
        if let Some(current) = &mut self.current {
            current.sum.update(bytes.get(..written).unwrap_or(bytes));
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if self.renamed {
            return;
        }
        // A zip writer completes its file when it is dropped, which a removed file does not mind.
        let _ = match self.place {
            Place::Directory(_) if self.draft.is_dir() => fs::remove_dir_all(&self.draft),
            Place::Directory(_) | Place::Zip(_) => fs::remove_file(&self.draft),
        };
    }
}

/// Creates the draft of a directory. That of a killed process may have its name.
fn draft_folder(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
    let (stem, id) = (draft::stem(name), std::process::id());
    let mut number = 0_u32;
    loop {
        number += 1;
        let mut name = stem.clone();
        name.push(format!(".{id}-{number}.recount.part"));
        let draft = path.with_file_name(name);
        match fs::create_dir(&draft) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return created.map(|()| draft),
        }
    }
}

/// Returns the SHA-256 of a content, and its length in bytes.
///
/// ```
/// let (hash, length) = recount_bundle::sha256(&b"abc"[..])?;
/// assert_eq!((hash, length), (recount_journal::Hash::of_object(b"abc"), 3));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Those of the reader.
pub fn sha256(mut content: impl Read) -> io::Result<(Hash, u64)> {
    let mut sum = Sum(Sha256::new());
    let length = io::copy(&mut content, &mut sum)?;
    Ok((Hash::from_bytes(sum.0.finalize().into()), length))
}

struct Sum(Sha256);

impl Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Refuses a path at which there is something else than an empty directory.
fn check_vacant(path: &Path) -> io::Result<()> {
    let is_vacant = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => true,
        Err(error) => return Err(error),
        Ok(found) => found.is_dir() && fs::read_dir(path)?.next().is_none(),
    };
    match is_vacant {
        true => Ok(()),
        false => Err(ErrorKind::AlreadyExists.into()),
    }
}
