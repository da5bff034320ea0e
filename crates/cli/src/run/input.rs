//! The lines that are typed at the terminal.

use std::io::BufRead;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use crate::terminal::prompt;
use recount::session::RequestId;

/// A line, and the request that was on the screen when it was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Typed {
    pub(super) line: String,
    /// `None` if no request was on the screen, so that the line is for the model.
    pub(super) question: Option<RequestId>,
}

/// The request on the screen, shared with the thread that reads the terminal.
type Shown = Arc<Mutex<Option<RequestId>>>;

/// The lines of standard input; none without a terminal.
pub(super) struct Input {
    lines: Option<mpsc::UnboundedReceiver<Typed>>,
    shown: Shown,
}

impl Input {
    /// Reads standard input from now on.
    pub(super) fn typed() -> Input {
        let (sender, lines) = mpsc::unbounded_channel();
        let shown = Shown::default();
        let at_reader = shown.clone();
        // Reading a terminal cannot be interrupted, so a thread does it. It ends with the program.
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { break };
                let question = *at_reader.lock().unwrap_or_else(PoisonError::into_inner);
                if sender.send(Typed { line, question }).is_err() {
                    break;
                }
            }
        });
        Input {
            lines: Some(lines),
            shown,
        }
    }

    /// An input without lines.
    pub(super) fn none() -> Input {
        Input {
            lines: None,
            shown: Shown::default(),
        }
    }

    /// Binds the lines that are typed from now on to the request on the screen, or to none.
    ///
    /// The beginning of a line that was typed before a new request is dropped.
    pub(super) fn show(&self, question: Option<RequestId>) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if question.is_some() && *shown != question {
            prompt::drop_typed();
        }
        *shown = question;
    }

    /// The next line; `None` at the end of the input. Pends forever without a terminal.
    pub(super) async fn line(&mut self) -> Option<Typed> {
        match &mut self.lines {
            Some(lines) => lines.recv().await,
            None => std::future::pending().await,
        }
    }
}
