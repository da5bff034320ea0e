//! The serving process, seen from the demo: started, listened to, killed.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::place::Place;
use super::service::{CONTROL, Part};
use crate::failures::Failure;
use crate::terminal::Screen;

/// How long one part of the story may take before something is wrong.
const PATIENCE: Duration = Duration::from_secs(60);

/// A serving process.
pub(super) struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Starts this very program as the service.
    pub(super) fn start(
        place: &Place,
        endpoint: &str,
        part: Part,
        decided_by: Option<&str>,
        screen: &Screen,
    ) -> Result<Process, Failure> {
        let starting = |error| Failure::io("start the serving process", &error);
        let program = std::env::current_exe().map_err(starting)?;
        let mut child = Command::new(program)
            .args([
                "--color",
                screen.palette.as_choice(),
                "demo-service",
                "--journal",
            ])
            .arg(&place.path)
            .args(["--endpoint", endpoint, "--part", part.as_str()])
            .args(decided_by.map(|flag| format!("--decided-by={flag}")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(starting)?;
        let out = child
            .stdout
            .take()
            .ok_or_else(|| died("it has no output".to_owned()))?;
        Ok(Process {
            child,
            lines: BufReader::new(out).lines(),
        })
    }

    /// Its process id, while it lives.
    pub(super) fn id(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// Shows what it prints until it has something to say to the demo.
    pub(super) async fn until_it_waits(&mut self, screen: &mut Screen) -> Result<String, Failure> {
        match self.show(screen).await? {
            Some(word) => Ok(word),
            None => Err(died(format!("it ended with {}", self.end().await?))),
        }
    }

    /// Shows what it prints until it has ended well.
    pub(super) async fn until_it_ends(mut self, screen: &mut Screen) -> Result<(), Failure> {
        while self.show(screen).await?.is_some() {}
        let status = self.end().await?;
        if status.success() {
            Ok(())
        } else {
            Err(died(format!("it ended with {status}")))
        }
    }

    /// Kills it as nothing in it can hinder, and says how it ended.
    pub(super) async fn kill(mut self) -> Result<std::process::ExitStatus, Failure> {
        self.child
            .start_kill()
            .map_err(|error| Failure::io("kill the serving process", &error))?;
        self.end().await
    }

    async fn show(&mut self, screen: &mut Screen) -> Result<Option<String>, Failure> {
        loop {
            let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await;
            let line =
                line.map_err(|_| died(format!("it said nothing for {} s", PATIENCE.as_secs())))?;
            match line.map_err(|error| Failure::io("read from the serving process", &error))? {
                None => return Ok(None),
                Some(line) => match line.strip_prefix(CONTROL) {
                    Some(word) => return Ok(Some(word.to_owned())),
                    None => screen.line(&line)?,
                },
            }
            screen.flush()?;
        }
    }

    async fn end(&mut self) -> Result<std::process::ExitStatus, Failure> {
        self.child
            .wait()
            .await
            .map_err(|error| Failure::io("wait for the serving process", &error))
    }
}

fn died(how: String) -> Failure {
    Failure::new(
        "demo",
        format!("the serving process did not do its part: {how}"),
    )
    .advice("what it said stands above")
}
