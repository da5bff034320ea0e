//! A file that has its name only once it is whole: written beside its place, synced, and renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::failure::{Exit, Failure};

/// A file on its way; what is not finished leaves nothing behind.
pub(super) struct WholeFile {
    path: PathBuf,
    draft: PathBuf,
    out: BufWriter<File>,
}

impl WholeFile {
    /// Begins a file that will stand at `path`, in place of what stands there now.
    pub(super) fn create(path: &Path) -> Result<WholeFile, Failure> {
        let name = path.file_name().ok_or_else(|| {
            let what = format!("expected a file to write, found {}", path.display());
            Failure::new("not-a-file", what).exit(Exit::Usage)
        })?;
        let mut draft_name = name.to_owned();
        draft_name.push(format!(".{}.part", std::process::id()));
        let draft = path.with_file_name(draft_name);
        let file = File::create_new(&draft).map_err(failed(path))?;
        Ok(WholeFile {
            path: path.to_owned(),
            draft,
            out: BufWriter::new(file),
        })
    }

    /// Where it is written to.
    pub(super) fn writer(&mut self) -> &mut BufWriter<File> {
        &mut self.out
    }

    /// Writes more of it.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(failed(&self.path))
    }

    /// It is whole, and takes its name.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        self.name().map_err(failed(&self.path))
    }

    fn name(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().sync_all()?;
        fs::rename(&self.draft, &self.path)?;
        // The name is on the disk only when its directory is.
        let directory = self.path.parent().filter(|it| !it.as_os_str().is_empty());
        File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        // Of a file that has its name there is no draft any more.
        let _ = fs::remove_file(&self.draft);
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::io(format!("write {}", path.display()), &error)
}
