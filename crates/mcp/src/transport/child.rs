//! The process of a server that is used over standard input and output.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use recount_session::secret::Unsaid;
use recount_tool::process_group::ProcessGroup;
use recount_tool::program_env;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use crate::settings::server::McpServer;

/// The process of a server, in a process group of its own, which is killed on drop.
pub(crate) struct ChildProcess {
    child: Child,
    group: ProcessGroup,
    last_lines: Arc<Mutex<VecDeque<String>>>,
    /// Ends when standard error is closed.
    log: JoinHandle<()>,
}

/// The pipes that a client reads and writes.
pub(super) type Pipes = (ChildStdout, ChildStdin);

impl ChildProcess {
    pub(crate) fn start(
        server: &McpServer,
        program: &str,
        args: &[String],
    ) -> Result<(ChildProcess, Pipes), String> {
        let mut command = Command::new(program);
        command.args(args).kill_on_drop(true);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        program_env::clean(&mut command, server.inherited.iter().map(String::as_str));
        for (name, value) in &server.env {
            command.env(name, value.reveal());
        }
        // A runner such as npx starts the server as its own child; both are ended together.
        let mut child = ProcessGroup::led_by(&mut command)
            .spawn()
            .map_err(|error| format!("cannot start {program:?}: {error}"))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(format!("{program:?} was started without pipes"));
        };
        let last_lines = Arc::<Mutex<VecDeque<String>>>::default();
        let log = log(server.name(), server.unsaid(), stderr, last_lines.clone());
        let log = tokio::spawn(log);
        let process = ChildProcess {
            group: ProcessGroup::of(&child),
            child,
            last_lines,
            log,
        };
        Ok((process, (stdout, stdin)))
    }

    /// Returns the exit status, if the process has ended, and the last lines of standard error.
    pub(crate) async fn exit_report(&mut self) -> String {
        // A process that has closed its output is about to end, and its last lines may still
        // arrive.
        let _ = tokio::time::timeout(LAST_WORDS_WITHIN, &mut self.log).await;
        let _ = self.ends_within(LAST_WORDS_WITHIN).await;
        let ended = match self.child.try_wait() {
            Ok(Some(status)) => format!("its program ended ({status})"),
            Ok(None) | Err(_) => "its program still runs".to_owned(),
        };
        let words = self
            .last_lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if words.is_empty() {
            return ended;
        }
        format!("{ended}; it said last: {}", words.join(" | "))
    }

    /// Waits for the process to end after its input was closed, then terminates it, then kills it.
    pub(crate) async fn end(mut self) {
        if self.ends_within(ENDS_WITHIN).await {
            return;
        }
        self.group.ask_to_end();
        if !self.ends_within(ENDS_WITHIN).await {
            tracing::warn!(target: "recount::mcp", "the program of a server did not end when it was asked to");
        }
        // Dropping this value kills the rest of the process group.
    }

    async fn ends_within(&mut self, patience: Duration) -> bool {
        tokio::time::timeout(patience, self.child.wait())
            .await
            .is_ok()
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.group.end();
    }
}

/// Logs the server's standard error line by line, and keeps the last lines.
async fn log(
    server: String,
    unsaid: Unsaid,
    stderr: ChildStderr,
    last_lines: Arc<Mutex<VecDeque<String>>>,
) {
    let mut reader = BufReader::new(stderr);
    while let Some(line) = line(&mut reader).await {
        let said = line.without(&unsaid);
        if said.is_empty() {
            continue;
        }
        tracing::info!(target: "recount::mcp", %server, "{said}");
        let mut words = last_lines.lock().unwrap_or_else(PoisonError::into_inner);
        words.push_back(said.chars().take(WORDS_CHARS_MAX).collect());
        while words.len() > LINES_KEPT {
            words.pop_front();
        }
    }
}

/// The kept part of a line.
struct Line {
    said: Vec<u8>,
    is_cut: bool,
}

impl Line {
    /// Returns the text without secrets.
    fn without(&self, unsaid: &Unsaid) -> String {
        let mut said = unsaid.out_of(String::from_utf8_lossy(&self.said).trim_end());
        if self.is_cut {
            // The cut may have split a secret.
            let kept = said.len().saturating_sub(unsaid.longest());
            said.truncate(said.floor_char_boundary(kept));
        }
        said
    }
}

/// Returns the next line. The rest of a line that is too long is skipped.
async fn line(reader: &mut (impl AsyncBufRead + Unpin)) -> Option<Line> {
    let mut said = Vec::new();
    let mut piece = Vec::new();
    let mut is_cut = false;
    loop {
        piece.clear();
        let mut limited = (&mut *reader).take(LINE_BYTES_MAX);
        let read = limited.read_until(b'\n', &mut piece).await.unwrap_or(0);
        let is_end = read == 0 || piece.ends_with(b"\n");
        if said.is_empty() {
            said.append(&mut piece);
        } else {
            is_cut |= !piece.is_empty() && piece != b"\n";
        }
        match (is_end, said.is_empty()) {
            (true, true) => return None,
            (true, false) => return Some(Line { said, is_cut }),
            (false, _) => {}
        }
    }
}

const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);
const ENDS_WITHIN: Duration = Duration::from_secs(2);
const LINE_BYTES_MAX: u64 = 8 << 10;
const LINES_KEPT: usize = 3;
const WORDS_CHARS_MAX: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;
    use recount_session::secret::Secret;

    #[tokio::test]
    async fn too_long_line_is_cut_and_the_next_is_complete() {
        let long = "x".repeat(20_000);
        let text = format!("one\n{long}\n\nlast");
        let mut reader = BufReader::new(text.as_bytes());
        let mut lines = Vec::new();
        while let Some(line) = line(&mut reader).await {
            lines.push((line.said.len(), line.is_cut));
        }
        assert_eq!(lines, [(4, false), (8192, true), (1, false), (4, false)]);
    }

    #[test]
    fn cut_line_holds_no_part_of_a_secret() {
        let mut unsaid = Unsaid::default();
        unsaid.add(&Secret::new("s3cret-token"));
        let line = |is_cut| Line {
            said: b"the key s3cret-token is not s3cret-tok".to_vec(),
            is_cut,
        };
        assert_eq!(line(true).without(&unsaid), "the key [hidden] is no");
        let whole = "the key [hidden] is not s3cret-tok";
        assert_eq!(line(false).without(&unsaid), whole);
    }
}
