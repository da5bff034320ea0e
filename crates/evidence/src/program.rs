//! Programs that sign or keep checkpoints.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

/// The time that a program may take.
const TIME_MAX: Duration = Duration::from_secs(30);

/// The maximum length of the output of a program, in bytes.
const OUTPUT_MAX: u64 = 64 << 10;

/// A program has not done its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The command is empty.
    #[error("expected a program and its arguments, found an empty command")]
    NoProgram,
    /// The program cannot be started, or its output not be read.
    #[error("the program {program} failed: {source}")]
    Io {
        /// The program.
        program: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The program did not end in time, or not with 0.
    #[error("the program {program} {what}")]
    Ended {
        /// The program.
        program: String,
        /// Its end.
        what: String,
    },
}

/// Runs a program with an input, and returns its output.
pub(crate) async fn run(command: &[String], input: &str) -> Result<String, ProgramError> {
    let (name, arguments) = command.split_first().ok_or(ProgramError::NoProgram)?;
    let failed = |source| ProgramError::Io {
        program: name.clone(),
        source,
    };
    let ended = |what| ProgramError::Ended {
        program: name.clone(),
        what,
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
            let _gone = stdin.write_all(input.as_bytes()).await;
        }
        let mut output = String::new();
        if let Some(stdout) = stdout {
            stdout.take(OUTPUT_MAX).read_to_string(&mut output).await?;
        }
        Ok((child.wait().await?, output))
    };
    let (status, output) = timeout(TIME_MAX, run)
        .await
        .map_err(|_| ended(format!("was killed after {TIME_MAX:?}")))?
        .map_err(failed)?;
    match status.success() {
        true => Ok(output),
        false => Err(ended(format!("ended with {status}"))),
    }
}
