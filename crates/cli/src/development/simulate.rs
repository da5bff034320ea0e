//! `recount simulate`: the fake Gemini Live service.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use tokio::sync::mpsc;

use crate::failures::{Exit, Failure};
use crate::files::{Force, destination};
use crate::terminal::{COLUMNS, Screen, Stop, Tone};
use recount::simulator::{
    Entry, Event, Frame, Script, ScriptError, Side, Simulator, SimulatorError,
};
use recount_telling::{cut, one_line};

/// Plays a script as a fake Gemini Live service, until Ctrl-C or SIGTERM.
///
/// The first line of the output is the URL to connect to. At the end it lists the messages that the
/// script expected from the client and did not receive.
#[derive(Args)]
#[command(group = ArgGroup::new("model").required(true).args(["script", "rules"]))]
pub(crate) struct Simulate {
    /// The script: JSON lines, or YAML in a file that ends in .yaml or .yml; see docs/simulator.md.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Answers any number of clients by the rules of this file, and echoes other messages.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Writes every message to this file as JSON lines, without keys, tokens and handles; `-` is
    /// standard output.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// The address to listen on, on this machine only; port 0 means any free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8787")]
    listen: String,
    /// Prints every message.
    #[arg(long, short)]
    verbose: bool,
    /// Shows every message in full, whatever its length.
    #[arg(long)]
    full: bool,
}

impl Simulate {
    pub(crate) async fn run(self, screen: &mut Screen) -> Result<Exit, Failure> {
        let mut simulator = self.simulator()?;
        let mut frames = None;
        if let Some(path) = &self.record {
            let file = recording(path, self.force)?;
            let (sender, receiver) = mpsc::unbounded_channel();
            // Without a receiver the program is about to end.
            simulator = simulator.record(move |frame| drop(sender.send(frame)));
            frames = Some((receiver, Recording::to(path.clone(), file)));
        }
        // Before the address is printed, so that no signal is missed.
        let stop = Stop::listen()?;
        let running = simulator.listen(&self.listen).await?;
        screen.line(&running.url())?;
        screen.flush()?;
        let mut shown = 0;
        loop {
            let seen = tokio::select! {
                biased;
                () = stop.asked() => break,
                Some(frame) = next(&mut frames) => Seen::Frame(frame),
                entries = running.entries_after(shown) => Seen::Entries(entries),
            };
            match (seen, &mut frames) {
                (Seen::Frame(frame), Some((_, recording))) => recording.write(&frame)?,
                (Seen::Frame(_), None) => {}
                (Seen::Entries(entries), _) => {
                    shown += entries.len();
                    for entry in entries.iter().filter(|_| self.verbose) {
                        show(entry, self.full, screen)?;
                    }
                    screen.flush()?;
                }
            }
        }
        let unmet = running.unmet();
        running.shutdown().await;
        if let Some((mut receiver, mut recording)) = frames {
            while let Ok(frame) = receiver.try_recv() {
                recording.write(&frame)?;
            }
        }
        if self.rules.is_some() || unmet.is_empty() {
            return Ok(Exit::Ok);
        }
        let lines: Vec<String> = unmet.iter().map(ToString::to_string).collect();
        Err(Failure::new("script", lines.join("; "))
            .advice("the client did not send the messages that the script expects"))
    }

    fn simulator(&self) -> Result<Simulator, Failure> {
        if let Some(script) = &self.script {
            return Ok(Simulator::start(Script::read(script)?));
        }
        let rules = match &self.rules {
            Some(rules) => Script::read(rules)?,
            None => Script::default(),
        };
        let simulator = Simulator::start(rules.with_echo());
        Ok(if self.verbose {
            simulator
        } else {
            simulator.without_transcript()
        })
    }
}

/// The next thing to show or to write.
enum Seen {
    Frame(Frame),
    Entries(Vec<Entry>),
}

/// The next frame to write; pends forever without `--record`.
async fn next(frames: &mut Option<(mpsc::UnboundedReceiver<Frame>, Recording)>) -> Option<Frame> {
    match frames {
        Some((receiver, _)) => receiver.recv().await,
        None => std::future::pending().await,
    }
}

/// Opens the output of `--record`.
fn recording(path: &Path, force: Force) -> Result<Box<dyn Write + Send>, Failure> {
    if destination::is_standard(path) {
        return Ok(Box::new(std::io::stdout()));
    }
    destination::check_vacant(path, force)?;
    let removed = match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    // A file that was created there since the check is neither followed nor replaced.
    let file = removed.and_then(|()| File::create_new(path));
    Ok(Box::new(file.map_err(|error| unwritable(path, &error))?))
}

/// The file of `--record`.
struct Recording {
    path: PathBuf,
    file: Box<dyn Write + Send>,
}

impl Recording {
    fn to(path: PathBuf, file: Box<dyn Write + Send>) -> Self {
        Self { path, file }
    }

    /// Writes a frame through to the file at once.
    fn write(&mut self, frame: &Frame) -> Result<(), Failure> {
        let line = format!("{}\n", frame.line());
        self.file
            .write_all(line.as_bytes())
            .map_err(|error| unwritable(&self.path, &error))
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        "io",
        format!("{} cannot be written: {error}", path.display()),
    )
    .advice("choose another file with --record")
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
        Event::SentRaw(frame) => {
            let text = String::from_utf8_lossy(&frame.bytes).into_owned();
            (">", text, Tone::Speech)
        }
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
            .advice("docs/simulator.md describes scripts")
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
