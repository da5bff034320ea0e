//! Places outside the journal that get a copy of each checkpoint.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::checkpoint::Checkpoint;
use crate::note::Note;
use crate::program::{self, ProgramError};

/// A place that gets a copy of each checkpoint, out of reach of a person who can only rewrite the
/// journal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Anchor {
    /// A directory, for example on another mount. Each checkpoint is a file of its own, named by
    /// its number of records, which is never written again.
    Directory(PathBuf),
    /// A program and its arguments, which gets the note on its standard input. It has taken the
    /// checkpoint if it exits with 0.
    Command(Vec<String>),
}

/// An anchor has not taken a checkpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnchorError {
    /// The file cannot be written.
    #[error("failed to write {path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// There is another checkpoint with the same number of records.
    #[error(
        "{path} has another checkpoint of as many records: this journal was rewritten, or the file \
         is of another journal"
    )]
    Differs {
        /// The file.
        path: String,
    },
    /// The program failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

impl Anchor {
    /// Hands a checkpoint over. Doing so twice has no further effect on a directory.
    ///
    /// # Errors
    /// [`AnchorError`].
    pub async fn take(&self, checkpoint: &Checkpoint, note: &Note) -> Result<(), AnchorError> {
        match self {
            Self::Directory(directory) => write(directory, checkpoint, &note.to_string()),
            Self::Command(command) => {
                program::run(command, &note.to_string()).await?;
                Ok(())
            }
        }
    }
}

/// Writes the file of a checkpoint, if there is none.
fn write(directory: &Path, checkpoint: &Checkpoint, note: &str) -> Result<(), AnchorError> {
    // Names in the order of their numbers.
    let path = directory.join(format!("{:020}.checkpoint", checkpoint.size));
    let failed = |source| AnchorError::Io {
        path: path.display().to_string(),
        source,
    };
    match fs::read_to_string(&path) {
        Ok(found) if is_same(&found, checkpoint) => return Ok(()),
        Ok(_) => {
            let path = path.display().to_string();
            return Err(AnchorError::Differs { path });
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    let (mut file, draft) = recount_text::files::draft::beside(&path).map_err(failed)?;
    let written = file
        .write_all(note.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&draft, &path))
        .and_then(|()| File::open(directory)?.sync_all());
    written.map_err(|error| {
        let _left = fs::remove_file(&draft);
        failed(error)
    })
}

/// True if a file has this checkpoint, under whatever signatures.
fn is_same(found: &str, checkpoint: &Checkpoint) -> bool {
    let note = found.parse::<Note>();
    note.is_ok_and(|note| Checkpoint::of(&note).is_ok_and(|it| it == *checkpoint))
}
