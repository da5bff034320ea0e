//! The signers of checkpoints: keys in this process, and commands of other users or devices.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

use crate::keys::PrivateKey;
use crate::note::Note;
use crate::signature::{NotANote, NoteSignature};

/// The time that a signer command may take.
const COMMAND_TIME: Duration = Duration::from_secs(30);

/// The maximum length of the output of a signer command, in bytes.
const OUTPUT_MAX: u64 = 64 << 10;

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
    /// The command is empty.
    #[error("expected a program that signs, found an empty command")]
    NoProgram,
    /// The program cannot be started, or its output not be read.
    #[error("the signer {program} failed: {source}")]
    Io {
        /// The program.
        program: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The program did not end in time, or not with 0.
    #[error("the signer {program} {what}")]
    Ended {
        /// The program.
        program: String,
        /// Its end.
        what: String,
    },
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
                for signature in run(command, note.text()).await? {
                    note.add(signature)?;
                }
                Ok(())
            }
        }
    }
}

async fn run(command: &[String], text: &str) -> Result<Vec<NoteSignature>, SignError> {
    let (name, arguments) = command.split_first().ok_or(SignError::NoProgram)?;
    let program = || name.clone();
    let failed = |source| SignError::Io {
        program: program(),
        source,
    };
    let mut child = Command::new(name)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let run = async {
        if let Some(mut stdin) = stdin {
            // A program may exit without reading its input.
            let _gone = stdin.write_all(text.as_bytes()).await;
        }
        let mut output = String::new();
        if let Some(stdout) = stdout {
            stdout.take(OUTPUT_MAX).read_to_string(&mut output).await?;
        }
        Ok((child.wait().await?, output))
    };
    let ended = timeout(COMMAND_TIME, run).await;
    let (status, output) = ended
        .map_err(|_| SignError::Ended {
            program: program(),
            what: format!("was killed after {COMMAND_TIME:?}"),
        })?
        .map_err(failed)?;
    if !status.success() {
        return Err(SignError::Ended {
            program: program(),
            what: format!("ended with {status}"),
        });
    }
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
        program: program(),
        source,
    })
}
