//! The calls that a relay knows, on record or on the way there.

use recount::session::{Json, Seq};
use tokio_tungstenite::tungstenite::Message;

use super::calls::Act;
use super::messages::{Unanswered, call_of, has_args, unanswered};
use crate::frames::responses::{Response, Returned};
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
    pub(super) answer: Option<Returned>,
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
    /// True if the vendor has a response: an acknowledgement or an outcome.
    pub(super) is_told: bool,
    /// True if the vendor has the outcome.
    pub(super) has_outcome: bool,
    /// The record of the client's last answer, if the vendor gets it only then.
    pub(super) record: Record,
}

pub(super) enum State {
    /// The client does not have it.
    Held,
    /// The client had it before its record and without a claim. It may have answered.
    Passed(Option<Returned>),
    /// The client has it and has not given its last answer.
    Delivered(Start),
    /// The client has answered, or need not any more.
    Over,
}

/// The record of a client's last answer to a held call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// There is no such answer, or the session has spoken since.
    None,
    /// It is on the way.
    Awaited,
    /// It is made, and the session is to speak.
    Made,
    /// The session has refused it, because the call has another outcome. It is to speak.
    Refused,
    /// It cannot be made.
    Failed,
}

/// The delivery of a call.
pub(super) enum Delivery {
    /// The client gets this text.
    Text(String),
    /// The client has had the call, and this is its answer.
    Answered(Returned),
}

/// True if the response is for the call with this id and name.
///
/// Its id decides. With `is_named`, its name must be that of the call, too.
pub(super) fn is_for(
    (id, name): (Option<&String>, &String),
    response: &Response<'_>,
    is_named: bool,
) -> bool {
    let has_name = response.name.as_ref() == Some(name);
    match &response.id {
        Some(given) => id == Some(given) && (has_name || !is_named),
        None => id.is_none() && has_name,
    }
}

impl Known {
    pub(super) fn held(id: Option<String>, name: String, text: Option<String>) -> Known {
        Known {
            id,
            name,
            text,
            state: State::Held,
            is_ended: false,
            is_told: false,
            has_outcome: false,
            record: Record::None,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        match self.state {
            State::Over => self.record == Record::None,
            State::Held | State::Passed(_) => self.is_ended,
            State::Delivered(_) => false,
        }
    }

    pub(super) fn was_given(&self) -> bool {
        match self.state {
            State::Over | State::Delivered(_) | State::Passed(_) => true,
            State::Held => false,
        }
    }

    /// True if the client has had the call, and the vendor has no outcome of it.
    pub(super) fn lacks_outcome(&self) -> bool {
        match self.state {
            State::Over | State::Delivered(_) => !self.has_outcome,
            State::Held | State::Passed(_) => false,
        }
    }

    /// True if the response is for the call, as `is_for` says.
    pub(super) fn is_for(&self, response: &Response<'_>, is_named: bool) -> bool {
        is_for((self.id.as_ref(), &self.name), response, is_named)
    }

    /// Notes that the vendor gets the outcome now.
    pub(super) fn tell(&mut self) {
        (self.is_told, self.has_outcome) = (true, true);
    }

    pub(super) fn end(&mut self) {
        if let State::Delivered(_) = self.state {
            self.state = State::Over;
        }
    }

    /// Delivers the call, once.
    pub(super) fn deliver(&mut self, start: Start, args: &Json) -> Option<Delivery> {
        match &mut self.state {
            State::Held if !self.is_ended => {}
            State::Passed(answer) => {
                let answer = answer.take().map(Delivery::Answered);
                self.state = match answer {
                    Some(_) => State::Over,
                    None => State::Delivered(start),
                };
                return answer;
            }
            State::Held | State::Delivered(_) | State::Over => return None,
        }
        self.state = State::Delivered(start);
        let text = self.text.take().filter(|text| has_args(text, args));
        let text = text.unwrap_or_else(|| call_of(self.id.as_deref(), &self.name, args));
        Some(Delivery::Text(text))
    }

    /// The word of the gateway to the vendor, in place of an answer.
    pub(super) fn unanswered(&self, ending: Unanswered<'_>) -> Act {
        let id = self.id.as_deref();
        Act::Own(unanswered(id, &self.name, self.is_told, ending))
    }
}
