//! The calls that a relay knows, on record or on the way there.

use recount::session::{Json, Seq};
use tokio_tungstenite::tungstenite::Message;

use super::messages::{call_of, has_args};
use crate::sessions::Start;

/// A message of the vendor whose calls are not all on record.
pub(super) struct Waiting {
    /// Its number among the messages that the session hears.
    pub(super) number: u64,
    /// The message, if it passes unchanged once all its calls are released.
    pub(super) whole: Option<Message>,
    /// The rest of the message, if it waits for the calls.
    pub(super) rest: Option<Message>,
    pub(super) entries: Vec<Entry>,
}

/// A call in such a message.
pub(super) struct Entry {
    pub(super) id: Option<String>,
    pub(super) name: String,
    /// The call as the vendor wrote it.
    pub(super) text: String,
    pub(super) is_piece: bool,
    pub(super) call: Option<Seq>,
    pub(super) released: Option<(Start, Json)>,
    /// True if it was passed before it was on record.
    pub(super) is_passed: bool,
    /// The answer that the client gave before the call was on record.
    pub(super) answer: Option<Json>,
}

/// A call on record that has not ended for the client.
pub(super) struct Known {
    pub(super) id: Option<String>,
    pub(super) name: String,
    /// The text of a call that the client does not have yet.
    pub(super) text: Option<String>,
    pub(super) state: State,
    /// True if the session has ended it.
    pub(super) is_ended: bool,
}

pub(super) enum State {
    /// The client does not have it.
    Held,
    /// The client has it and has not given its last answer.
    Delivered(Start),
    /// The client has answered, or need not any more.
    Over,
}

impl Known {
    pub(super) fn is_over(&self) -> bool {
        match self.state {
            State::Over => true,
            State::Held => self.is_ended,
            State::Delivered(_) => false,
        }
    }

    pub(super) fn was_given(&self) -> bool {
        match self.state {
            State::Over | State::Delivered(_) => true,
            State::Held => false,
        }
    }

    pub(super) fn end(&mut self) {
        if let State::Delivered(_) = self.state {
            self.state = State::Over;
        }
    }

    /// Delivers the call, once. Returns its text.
    pub(super) fn deliver(&mut self, start: Start, args: &Json) -> Option<String> {
        match self.state {
            State::Held if !self.is_ended => {}
            State::Held | State::Delivered(_) | State::Over => return None,
        }
        self.state = State::Delivered(start);
        let text = self.text.take().filter(|text| has_args(text, args));
        let text = text.unwrap_or_else(|| call_of(self.id.as_deref(), &self.name, args));
        Some(text)
    }
}
