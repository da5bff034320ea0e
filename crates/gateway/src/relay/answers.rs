//! The answers of a client to held calls, until the session has recorded them.

use std::collections::VecDeque;

use recount::live::Told;
use recount::session::{Json, Seq};
use tokio_tungstenite::tungstenite::Message;

use super::messages::says;

/// The maximum number of answers whose text is kept until the session has recorded them.
const KEPT_MAX: usize = 64;

/// The maximum size of these texts, in bytes, if there are several.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// The answer of a client to a held call, until the session has recorded it.
pub(super) struct Answer {
    pub(super) call: Seq,
    pub(super) response: Json,
    pub(super) message: Message,
}

/// The answers, oldest first.
#[derive(Default)]
pub(super) struct Answers(VecDeque<Answer>);

impl Answers {
    /// Keeps the text of an answer. The session says the same in its own words if there are many.
    pub(super) fn keep(&mut self, answer: Answer) {
        let bytes: usize = self.0.iter().map(|it| it.message.len()).sum();
        let has_room = bytes.saturating_add(answer.message.len()) <= KEPT_BYTES_MAX;
        if self.0.is_empty() || has_room && self.0.len() < KEPT_MAX {
            self.0.push_back(answer);
        }
    }

    /// Takes the client's text that says the same as a message of the session.
    pub(super) fn take(&mut self, told: &Told, message: &str) -> Option<Message> {
        let is_same = |it: &Answer| it.call == told.call && says(message, &it.response);
        let at = self.0.iter().position(is_same);
        let answer = at.and_then(|at| self.0.remove(at));
        if !told.is_interim {
            self.0.retain(|it| it.call != told.call);
        }
        answer.map(|it| it.message)
    }

    /// Takes the newest answer to a call.
    pub(super) fn take_last(&mut self, call: Seq) -> Option<Answer> {
        let at = self.0.iter().rposition(|it| it.call == call)?;
        self.0.remove(at)
    }
}
