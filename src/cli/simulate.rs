//! `recount simulate`: the fake Gemini Live service by itself.

use std::path::PathBuf;

use clap::Args;

use super::failure::{Exit, Failure};
use super::one_line::{cut, one_line};
use super::screen::{COLUMNS, Screen};
use super::style::Tone;
use crate::simulator::{Entry, Event, Script, ScriptError, Side, Simulator, SimulatorError};

/// Plays a script as a fake Gemini Live service, until Ctrl-C.
///
/// The first line of the output is the URL to connect to.
#[derive(Args)]
pub(super) struct Simulate {
    /// The script: JSON lines, see docs/simulator-scripts.md.
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
    /// Where to listen, on this machine only; port 0 takes any free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8787")]
    listen: String,
    /// Prints every message.
    #[arg(long, short)]
    verbose: bool,
    /// Cuts nothing.
    #[arg(long)]
    full: bool,
}

impl Simulate {
    pub(super) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let script = Script::read(&self.script)?;
        let running = Simulator::start(script).listen(&self.listen).await?;
        screen.line(&running.url())?;
        screen.flush()?;
        let mut shown = 0;
        loop {
            let transcript = tokio::select! {
                biased;
                _ = tokio::signal::ctrl_c() => break,
                transcript = running.until(|it| it.entries().len() > shown) => transcript,
            };
            for entry in transcript.entries().iter().skip(shown) {
                if self.verbose {
                    show(entry, self.full, screen)?;
                }
            }
            shown = transcript.entries().len();
            screen.flush()?;
        }
        running.shutdown().await;
        Ok(Exit::Ok)
    }
}

fn show(entry: &Entry, full: bool, screen: &mut Screen) -> Result<(), Failure> {
    let (mark, text, tone) = match &entry.event {
        Event::Connected => ("*", "connected".to_owned(), Tone::Quiet),
        Event::Received { message, answers } => {
            let standing: String = answers
                .iter()
                .map(|it| format!("  ({:?})", it.standing))
                .collect();
            ("<", format!("{}{standing}", message.encode()), Tone::Plain)
        }
        Event::Unreadable { problem } => ("<", format!("unreadable: {problem}"), Tone::Bad),
        Event::Sent(message) => (">", message.encode(), Tone::Speech),
        Event::Closed { by, code, reason } => {
            let by = match by {
                Side::Client => "the client",
                Side::Service => "the simulator",
            };
            (
                "*",
                format!("closed by {by}, code {code} {reason}"),
                Tone::Quiet,
            )
        }
    };
    let line = format!("{} {mark} {}", entry.connection, one_line(&text));
    let line = if full {
        line.into()
    } else {
        cut(&line, COLUMNS)
    };
    screen.toned(tone, &line)
}

impl From<ScriptError> for Failure {
    fn from(error: ScriptError) -> Failure {
        let source = std::error::Error::source(&error)
            .map(|it| format!(": {it}"))
            .unwrap_or_default();
        Failure::new("script", format!("{error}{source}"))
            .advice("docs/simulator-scripts.md says what a script may say")
    }
}

impl From<SimulatorError> for Failure {
    fn from(error: SimulatorError) -> Failure {
        let source = std::error::Error::source(&error)
            .map(|it| format!(": {it}"))
            .unwrap_or_default();
        Failure::new("listen", format!("{error}{source}"))
            .advice("choose another address with --listen, such as 127.0.0.1:0 for any free port")
    }
}
