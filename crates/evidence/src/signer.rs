//! The signers of checkpoints: keys in this process, and commands of other users or devices.

use crate::keys::PrivateKey;
use crate::note::Note;
use crate::program::{self, ProgramError};
use crate::signature::{NotANote, NoteSignature};

/// A signer of checkpoints.
///
/// A key in the reach of the serving user protects against all others. A command can keep it out of
/// that user's reach, for example behind `sudo`, on another machine, or in a device.
#[derive(Debug)]
pub enum Signer {
    /// A key in this process.
    Key(PrivateKey),
    /// A program and its arguments. It reads the text of the note and prints the lines of its
    /// signatures, each as `— NAME SIGNATURE`.
    Command(Vec<String>),
}

/// A signer has not signed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    /// The program failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The program printed no signature.
    #[error("the signer {program} printed no signature: {source}")]
    Output {
        /// The program.
        program: String,
        /// The fault of its output.
        source: NotANote,
    },
    /// The text cannot be signed.
    #[error(transparent)]
    Note(#[from] NotANote),
}

impl Signer {
    /// Adds the signatures of this signer to a note.
    ///
    /// # Errors
    /// [`SignError`].
    pub async fn sign(&self, note: &mut Note) -> Result<(), SignError> {
        match self {
            Self::Key(key) => Ok(note.sign(key)?),
            Self::Command(command) => {
                for signature in signatures(command, note.text()).await? {
                    note.add(signature)?;
                }
                Ok(())
            }
        }
    }
}

async fn signatures(command: &[String], text: &str) -> Result<Vec<NoteSignature>, SignError> {
    let output = program::run(command, text).await?;
    let lines = output.lines().filter(|line| !line.trim().is_empty());
    let read: Result<Vec<NoteSignature>, NotANote> = lines.map(str::parse).collect();
    match read {
        Ok(signatures) if !signatures.is_empty() => Ok(signatures),
        Ok(_) => Err(NotANote {
            what: "its output is empty",
        }),
        Err(error) => Err(error),
    }
    .map_err(|source| SignError::Output {
        program: command.first().cloned().unwrap_or_default(),
        source,
    })
}
