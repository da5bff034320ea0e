//! Places outside the journal that get a copy of each checkpoint.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::checkpoint::{Checkpoint, path_in};
use crate::note::Note;
use crate::program::{self, ProgramError};
#[cfg(feature = "http")]
use crate::time_stamp::TimeStampRequest;
use crate::time_stamp::{NotATimeStamp, TimeStamp};

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
    /// An authority that puts the time to each checkpoint (RFC 3161).
    #[cfg(feature = "http")]
    Authority {
        /// Its URL, with `http` or `https`.
        url: String,
        /// A directory that also gets the files of each checkpoint and of its time stamp.
        directory: Option<PathBuf>,
    },
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
    /// The authority cannot be reached.
    #[error("the time stamp authority failed: {what}")]
    Authority {
        /// The failure, in words and without the URL.
        what: String,
    },
    /// The authority answered something else.
    #[error("the time stamp authority: {0}")]
    TimeStamp(#[from] NotATimeStamp),
    /// The program failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

impl Anchor {
    /// The word for the kind of the anchor.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Directory(_) => "directory",
            Self::Command(_) => "command",
            #[cfg(feature = "http")]
            Self::Authority { .. } => "timestamp",
        }
    }

    /// Hands a checkpoint over, and returns the time stamp of an authority. Doing so twice has no
    /// further effect on a directory.
    ///
    /// # Errors
    /// [`AnchorError`].
    pub async fn take(
        &self,
        checkpoint: &Checkpoint,
        note: &Note,
    ) -> Result<Option<TimeStamp>, AnchorError> {
        match self {
            Self::Directory(directory) => {
                write_checkpoint(directory, checkpoint, &note.to_string())?;
                Ok(None)
            }
            Self::Command(command) => {
                program::run(command, &note.to_string()).await?;
                Ok(None)
            }
            #[cfg(feature = "http")]
            Self::Authority { url, directory } => {
                let note = note.to_string();
                if let Some(directory) = directory {
                    // Another journal's checkpoint is found before the authority is asked.
                    write_checkpoint(directory, checkpoint, &note)?;
                }
                let request = TimeStampRequest::new(note.as_bytes());
                let failed = |what| AnchorError::Authority { what };
                let request = request.map_err(|error| failed(error.to_string()))?;
                let response = crate::authority::post(url, request.to_der()).await;
                let response = response.map_err(failed)?;
                let time_stamp = request.accept(&response)?;
                if let Some(directory) = directory {
                    let path = path_in(directory, checkpoint.size, "tsr");
                    write(&path, &time_stamp.response)?;
                }
                Ok(Some(time_stamp))
            }
        }
    }
}

/// Writes the file of a checkpoint, if there is none.
fn write_checkpoint(
    directory: &Path,
    checkpoint: &Checkpoint,
    note: &str,
) -> Result<(), AnchorError> {
    let path = path_in(directory, checkpoint.size, "checkpoint");
    match fs::read_to_string(&path) {
        Ok(found) if is_same(&found, checkpoint) => Ok(()),
        Ok(_) => Err(AnchorError::Differs {
            path: path.display().to_string(),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => write(&path, note.as_bytes()),
        Err(source) => Err(AnchorError::Io {
            path: path.display().to_string(),
            source,
        }),
    }
}

/// Writes a whole file, durably.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), AnchorError> {
    let failed = |source| AnchorError::Io {
        path: path.display().to_string(),
        source,
    };
    let (mut file, draft) = recount_text::files::draft::beside(path).map_err(failed)?;
    let directory = path.parent().unwrap_or(Path::new("."));
    let written = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&draft, path))
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
