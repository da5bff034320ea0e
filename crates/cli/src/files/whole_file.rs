//! A file that gets its name when it is complete: written under another name, synced, renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::destination;
use super::destination::Force;
use crate::failures::{Exit, Failure};
use recount_text::files::draft;

/// A file that is being written as a draft.
///
/// Dropping it removes the draft. The draft of a killed process is removed by the next writer of
/// the same file.
pub(crate) struct WholeFile {
    path: PathBuf,
    draft: PathBuf,
    force: Force,
    out: BufWriter<File>,
    /// True once the draft was renamed. Its former name may then belong to another writer.
    renamed: bool,
}

impl WholeFile {
    /// Starts a draft of the file `path`. An existing file is replaced at the end if `force`
    /// allows.
    ///
    /// # Errors
    /// The errors of [`destination::check_vacant`], and one if the directory cannot be written.
    pub(crate) fn create(path: &Path, force: Force) -> Result<WholeFile, Failure> {
        destination::check_vacant(path, force)?;
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
            renamed: false,
        })
    }

    /// The writer of the draft.
    pub(crate) fn writer(&mut self) -> &mut BufWriter<File> {
        &mut self.out
    }

    /// Appends bytes to the draft.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(failed(&self.path))
    }

    /// Gives the complete draft its name.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.name().map_err(failed(&self.path))
    }

    fn name(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().sync_all()?;
        if self.force.is_given() {
            fs::rename(&self.draft, &self.path)?;
            self.renamed = true;
        } else {
            // Unlike a rename, a link fails if the file exists by now. Dropping `self` removes the
            // draft.
            match fs::hard_link(&self.draft, &self.path) {
                // Some file systems have no links.
                Err(error) if error.kind() == io::ErrorKind::Unsupported || is_denied(&error) => {
                    let taken = self.path.symlink_metadata().is_ok();
                    let occupied = || io::Error::from(io::ErrorKind::AlreadyExists);
                    (!taken).then_some(()).ok_or_else(occupied)?;
                    fs::rename(&self.draft, &self.path)?;
                    self.renamed = true;
                }
                linked => linked?,
            }
        }
        // The name is durable once its directory is synced.
        let directory = self.path.parent().filter(|it| !it.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = fs::remove_file(&self.draft);
        }
    }
}

/// True if the system forbids the operation. Linux says so for links on a FAT disk.
fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::io(format!("write {}", path.display()), &error)
}
