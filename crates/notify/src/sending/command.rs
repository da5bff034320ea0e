//! Programs as targets.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;
use uuid::Uuid;

use super::sender::{Undelivered, unavailable};

/// The variables of the environment that a program gets. The others may be secrets.
const INHERITED: [&str; 6] = ["PATH", "HOME", "LANG", "TZ", "TMPDIR", "SYSTEMROOT"];

/// The variable with the id of the notification.
const ID: &str = "RECOUNT_NOTIFICATION_ID";

/// A run of a program.
pub(super) struct Run<'s> {
    pub(super) program: &'s str,
    pub(super) arguments: &'s [String],
    pub(super) id: Uuid,
    pub(super) timeout: Duration,
}

impl Run<'_> {
    /// Runs the program with an input. It has taken the message if it exits with 0.
    pub(super) async fn with_input(self, input: Vec<u8>) -> Result<(), Undelivered> {
        let mut command = Command::new(self.program);
        command
            .args(self.arguments)
            .env_clear()
            .env(ID, self.id.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        for name in INHERITED {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let mut child = command
            .spawn()
            .map_err(|error| unavailable(format!("the program cannot be started: {error}")))?;
        let stdin = child.stdin.take();
        let run = async {
            if let Some(mut stdin) = stdin {
                // A program may exit without reading its input.
                let _ = stdin.write_all(&input).await;
            }
            child.wait().await
        };
        let ended = timeout(self.timeout, run).await;
        let Ok(ended) = ended else {
            let what = format!("the program was killed after {:?}", self.timeout);
            return Err(unavailable(what));
        };
        let status = ended.map_err(|error| unavailable(error.to_string()))?;
        match status.success() {
            true => Ok(()),
            false => Err(Undelivered::Failed {
                what: format!("the program ended with {status}"),
            }),
        }
    }
}
