//! Standard output: where every line of a command goes, and what the user said about its looks.

use std::cell::Cell;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use serde::Serialize;

use super::beside::Beside;
use super::style::{Palette, Tone};
use crate::failures::{Failure, IO};
use crate::text::escaped;
use recount::ledger::PassedOver;

/// How wide a line is where nobody says otherwise.
pub(crate) const COLUMNS: usize = 80;

/// A form of output.
#[derive(Clone, Copy)]
enum Printed {
    /// Lines for people.
    Lines,
    /// JSON documents, each of which says up to where a journal was read.
    Json,
    /// A stream of its own, in which no other line may stand.
    Stream,
}

/// Standard output.
pub(crate) struct Screen {
    out: BufWriter<Stdout>,
    /// Its colours.
    pub(crate) palette: Palette,
    /// How wide the terminal is; a pipe or a file has no width.
    pub(crate) columns: Option<usize>,
    /// A prompt stands in the last line and waits for an answer.
    prompting: bool,
    /// The form in which the command has printed what it found.
    printed: Printed,
    /// The journals that were read beside the process that has them open.
    pub(crate) beside: Beside,
    /// What the command passed over, of which it warns at its end.
    pub(crate) passed_over: PassedOver,
    /// Whether the command can be told to pass over records of kinds that it does not know.
    pub(crate) can_skip: Cell<bool>,
}

impl Screen {
    /// Standard output in these colours.
    pub(crate) fn new(palette: Palette) -> Screen {
        Screen {
            out: BufWriter::new(io::stdout()),
            palette,
            columns: columns(),
            prompting: false,
            printed: Printed::Lines,
            beside: Beside::default(),
            passed_over: PassedOver::default(),
            can_skip: Cell::new(false),
        }
    }

    /// Prints a line.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), Failure> {
        // A prompt that stands there gives way.
        let clear = if std::mem::take(&mut self.prompting) {
            "\r\u{1b}[K"
        } else {
            ""
        };
        writeln!(self.out, "{clear}{text}").map_err(|error| printing(&error))
    }

    /// Prints a prompt, unless one stands there; only for terminals.
    pub(crate) fn prompt(&mut self, text: &str) -> Result<(), Failure> {
        if std::mem::replace(&mut self.prompting, true) {
            return Ok(());
        }
        write!(self.out, "{text}").map_err(|error| printing(&error))?;
        self.flush()
    }

    /// The person has typed a line behind the prompt.
    pub(crate) fn answered(&mut self) {
        self.prompting = false;
    }

    /// Prints a line in a tone.
    pub(crate) fn toned(&mut self, tone: Tone, text: &str) -> Result<(), Failure> {
        self.line(&self.palette.paint(tone, text))
    }

    /// Prints bytes and a line end.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out
            .write_all(bytes)
            .and_then(|()| self.out.write_all(b"\n"))
            .map_err(|error| printing(&error))
    }

    /// Prints a value as one line of JSON, in which whatever a terminal would act on is escaped.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value)
            .map_err(|error| Failure::new("broken", format!("failed to write JSON: {error}")))?;
        self.printed = Printed::Json;
        let text = self.beside.told_in(text);
        self.bytes(escaped(&text).as_bytes())
    }

    /// The writer itself, for what writes a stream of its own.
    pub(crate) fn writer(&mut self) -> &mut BufWriter<Stdout> {
        self.printed = Printed::Stream;
        &mut self.out
    }

    /// Says at the end up to where journals were read that another process has open.
    pub(crate) fn tell_beside(&mut self) -> Result<(), Failure> {
        let notes = self.beside.notes();
        match self.printed {
            Printed::Json => Ok(()),
            Printed::Lines => notes.iter().try_for_each(|it| self.toned(Tone::Quiet, it)),
            Printed::Stream => {
                for note in notes {
                    // Without a reader on standard error the stream is still whole.
                    let _ = writeln!(io::stderr(), "{note}");
                }
                Ok(())
            }
        }
    }

    /// Prints what is still held back.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|error| printing(&error))
    }
}

/// How wide the terminal is that standard output goes to, if it is one.
fn columns() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(io::stdout())
        && size.ws_col > 0
    {
        return Some(usize::from(size.ws_col));
    }
    Some(COLUMNS)
}

fn printing(error: &io::Error) -> Failure {
    let failure = Failure::io("write to standard output", error);
    // A disk without room behind standard output says nothing of the journal's.
    match error.kind() {
        io::ErrorKind::BrokenPipe => failure,
        _ => Failure::new(IO, failure.what),
    }
}
