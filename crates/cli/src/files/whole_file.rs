//! A file that has its name only once it is whole: written beside its place, synced, and renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::destination;
use super::destination::Force;
use crate::failures::{Exit, Failure};
use recount_text::files::draft;

/// A file on its way; what is not finished leaves nothing behind, unless the process is killed: the
/// next writer of the same file removes that.
pub(crate) struct WholeFile {
    path: PathBuf,
    draft: PathBuf,
    force: Force,
    out: BufWriter<File>,
}

impl WholeFile {
    /// Begins a file that will be at `path`; one that is there is replaced where that is allowed.
    ///
    /// # Errors
    /// As [`destination::may_stand_at`], and where the directory cannot be written.
    pub(crate) fn create(path: &Path, force: Force) -> Result<WholeFile, Failure> {
        destination::may_stand_at(path, force)?;
        if path.file_name().is_none() {
            let what = format!("expected a file to write, found {}", path.display());
            return Err(Failure::new("not-a-file", what).exit(Exit::Usage));
        }
        let (file, draft) = draft::beside(path).map_err(failed(path))?;
        Ok(WholeFile {
            path: path.to_owned(),
            draft,
            force,
            out: BufWriter::new(file),
        })
    }

    /// Where it is written to.
    pub(crate) fn writer(&mut self) -> &mut BufWriter<File> {
        &mut self.out
    }

    /// Writes more of it.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(failed(&self.path))
    }

    /// It is whole, and takes its name.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.name().map_err(failed(&self.path))
    }

    fn name(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().sync_all()?;
        if self.force.is_given() {
            fs::rename(&self.draft, &self.path)?;
        } else {
            // Unlike a rename, it fails where another file has come there meanwhile. The draft goes
            // with `self`.
            match fs::hard_link(&self.draft, &self.path) {
                // Some file systems have no links.
                Err(error) if error.kind() == io::ErrorKind::Unsupported || is_denied(&error) => {
                    let taken = self.path.symlink_metadata().is_ok();
                    let occupied = || io::Error::from(io::ErrorKind::AlreadyExists);
                    (!taken).then_some(()).ok_or_else(occupied)?;
                    fs::rename(&self.draft, &self.path)?;
                }
                linked => linked?,
            }
        }
        // The name is on the disk only when its directory is.
        let directory = self.path.parent().filter(|it| !it.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        // A file that replaced another has taken the draft's place.
        let _ = fs::remove_file(&self.draft);
    }
}

/// True if the system does not permit the operation, as Linux says of links on a FAT disk.
fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::io(format!("write {}", path.display()), &error)
}
