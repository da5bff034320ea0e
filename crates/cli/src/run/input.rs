//! The lines that the person at the terminal types.

use std::io::BufRead;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use crate::terminal::prompt;
use recount::session::RequestId;

/// A line, and the question that the terminal showed when it was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Typed {
    pub(super) line: String,
    /// None where the terminal asked nothing, so that the line is meant for the model.
    pub(super) question: Option<RequestId>,
}

/// The question on the screen, as the thread that reads the terminal sees it.
type Shown = Arc<Mutex<Option<RequestId>>>;

/// Lines of standard input as they come; none where there is no terminal.
pub(super) struct Input {
    lines: Option<mpsc::UnboundedReceiver<Typed>>,
    shown: Shown,
}

impl Input {
    /// Reads standard input from here on.
    pub(super) fn typed() -> Input {
        let (sender, lines) = mpsc::unbounded_channel();
        let shown = Shown::default();
        let at_reader = shown.clone();
        // Reading a terminal cannot be interrupted, so it is left to a thread that the end of the
        // program ends.
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

    /// Reads nothing.
    pub(super) fn nobody() -> Input {
        Input {
            lines: None,
            shown: Shown::default(),
        }
    }

    /// Binds the lines that are typed from now on to the question on the screen, or to none. The
    /// beginning of a line that was typed before a new question is dropped.
    pub(super) fn show(&self, question: Option<RequestId>) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if question.is_some() && *shown != question {
            prompt::drop_typed();
        }
        *shown = question;
    }

    /// The next line; `None` at the end of the input. Without a terminal it is never ready.
    pub(super) async fn line(&mut self) -> Option<Typed> {
        match &mut self.lines {
            Some(lines) => lines.recv().await,
            None => std::future::pending().await,
        }
    }
}
