//! Standard output of every command, with its colours and its width.

use std::cell::Cell;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use serde::Serialize;

use super::beside::Beside;
use super::style::Palette;
use super::unknown_work::UnknownWork;
use crate::failures::{Failure, IO};
use recount::ledger::PassedOver;
use recount_telling::{COLUMNS, Tone, escaped};

/// A form of output.
#[derive(Clone, Copy)]
enum Printed {
    /// Lines for people.
    Lines,
    /// JSON documents. Each has the last commit that was read of a journal in use.
    Json,
    /// A stream with a format of its own. No other line may be added to it.
    Stream,
}

/// Standard output.
pub(crate) struct Screen {
    out: BufWriter<Stdout>,
    /// Its colours.
    pub(crate) palette: Palette,
    /// The width of the terminal; `None` for a pipe or a file.
    pub(crate) columns: Option<usize>,
    /// True if the last line on the screen is a prompt.
    prompting: bool,
    /// The form of the output so far.
    printed: Printed,
    /// The journals that were read while another process had them open.
    pub(crate) beside: Beside,
    /// The records that the command skipped. It warns about them at its end.
    pub(crate) passed_over: PassedOver,
    /// True if the command has the option `--unknown-kinds`.
    pub(crate) can_skip: Cell<bool>,
    /// The sessions of an export whose open work is not known.
    pub(crate) unknown_work: UnknownWork,
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
            unknown_work: UnknownWork::default(),
        }
    }

    /// Prints a line.
    pub(crate) fn line(&mut self, text: &str) -> Result<(), Failure> {
        // A prompt in the last line is overwritten.
        let clear = if std::mem::take(&mut self.prompting) {
            "\r\u{1b}[K"
        } else {
            ""
        };
        writeln!(self.out, "{clear}{text}").map_err(|error| printing(&error))
    }

    /// Prints a prompt, unless one is on the screen already. Only for terminals.
    pub(crate) fn prompt(&mut self, text: &str) -> Result<(), Failure> {
        if std::mem::replace(&mut self.prompting, true) {
            return Ok(());
        }
        write!(self.out, "{text}").map_err(|error| printing(&error))?;
        self.flush()
    }

    /// Notes that the person has typed a line behind the prompt.
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

    /// Prints a value as one line of JSON. Characters that a terminal would act on are escaped.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value)
            .map_err(|error| Failure::new("broken", format!("failed to write JSON: {error}")))?;
        self.printed = Printed::Json;
        let text = self.beside.with_read_up_to(text);
        self.bytes(escaped(&text).as_bytes())
    }

    /// The writer itself, for output with a format of its own.
    pub(crate) fn writer(&mut self) -> &mut BufWriter<Stdout> {
        self.printed = Printed::Stream;
        &mut self.out
    }

    /// Prints the last commit that was read of each journal in use. Called at the end.
    pub(crate) fn show_notes(&mut self) -> Result<(), Failure> {
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

    /// Flushes the buffer.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|error| printing(&error))
    }
}

/// The width of the terminal behind standard output, if it is one.
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
    // A full disk behind standard output is not the disk of the journal, so it is no `no-space`.
    match error.kind() {
        io::ErrorKind::BrokenPipe => failure,
        _ => Failure::new(IO, failure.what),
    }
}
