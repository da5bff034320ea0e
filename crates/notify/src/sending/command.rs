//! Programs as targets.

use std::process::Stdio;
use std::time::Duration;

use recount::tool::process_group::ProcessGroup;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
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

/// A running program. It and the programs that it has started are killed on drop, unless it was
/// waited for.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // There is no id after a wait, because the system may use it again.
        ProcessGroup::of(&self.0).end();
    }
}

impl Run<'_> {
    /// Runs the program with an input. It has taken the message if it exits with 0.
    ///
    /// A program that does not end in time has failed on its message: the next one may be fine.
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
        ProcessGroup::led_by(&mut command);
        for name in INHERITED {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let child = command
            .spawn()
            .map_err(|error| unavailable(format!("the program cannot be started: {error}")))?;
        let mut running = Running(child);
        let stdin = running.0.stdin.take();
        let run = async {
            if let Some(mut stdin) = stdin {
                // A program may exit without reading its input.
                let _ = stdin.write_all(&input).await;
            }
            running.0.wait().await
        };
        let ended = timeout(self.timeout, run).await;
        let Ok(ended) = ended else {
            return Err(Undelivered::Failed {
                what: format!("the program was killed after {:?}", self.timeout),
            });
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
