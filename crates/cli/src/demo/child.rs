//! The serving process of the demo: started, watched, killed.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::place::Place;
use super::service::{CONTROL, Part};
use crate::failures::Failure;
use crate::terminal::Screen;
use recount_telling::Zone;

/// The maximum time for one step of the demo.
const PATIENCE: Duration = Duration::from_secs(60);

/// A serving process.
pub(super) struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Process {
    /// Starts this program as the service.
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
                "--tz",
                &Zone::chosen().to_string(),
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

    /// The process id, while the process runs.
    pub(super) fn id(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// Shows the output until a line for the demo, and returns that line.
    pub(super) async fn until_it_waits(&mut self, screen: &mut Screen) -> Result<String, Failure> {
        match self.show(screen).await? {
            Some(word) => Ok(word),
            None => Err(died(format!("it ended with {}", self.end().await?))),
        }
    }

    /// Shows the output until the process has ended successfully.
    pub(super) async fn until_it_ends(mut self, screen: &mut Screen) -> Result<(), Failure> {
        while self.show(screen).await?.is_some() {}
        let status = self.end().await?;
        if status.success() {
            Ok(())
        } else {
            Err(died(format!("it ended with {status}")))
        }
    }

    /// Kills the process with SIGKILL and returns its exit status.
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
                line.map_err(|_| died(format!("it printed nothing for {} s", PATIENCE.as_secs())))?;
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
    Failure::new("demo", format!("the serving process failed: {how}")).advice("its output is above")
}
