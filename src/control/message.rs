//! What an operator's program and the service say to each other: one JSON message at a time.

use std::collections::BTreeMap;

use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::Refusal;
use crate::ledger::{self, Entry, PausedCall, PendingConfirmation};
use crate::session::{Actor, CallId, Finding, Json, RequestId, Seq, SessionId, UnfitAnswer};
use crate::tool::{AnswerMembers, Ticket, ToolConfirmation, malformed};

/// A request holds no more than goes on record, and some words around it.
pub(super) const REQUEST_BYTES_MAX: usize = 4 << 20;

/// What an operator asks for. Whatever a message has besides is refused.
///
/// ```json
/// {"pending":{}}
/// {"sessions":{}}
/// {"named":{"digits":"7c6f"}}
/// {"answer":{"request":"7c6f…","answer":{"confirmed":true,"reason":"fine"}}}
/// {"answer":{"request":"7c6f…","answer":{"confirmed":false},"as":"ada"}}
/// {"answer":{"request":"7c6f…","answer":{"found":{"done":{"receipt":17}}}}}
/// {"respond":{"ticket":{"session":"0199…","call":5,"tool":"pay"},"response":{"receipt":17}}}
/// {"respond":{"ticket":{"session":"0199…","call":5,"tool":"pay"},"response":{"sent":1},"interim":true}}
/// {"reconcile":{"session":"0199…","call":5,"found":{"failed":"the bank refused it"}}}
/// {"cancel":{"session":"0199…","call":5,"reason":"ordered twice"}}
/// {"log":{"session":"0199…","from":1,"follow":true}}
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// What waits for somebody outside; each item is a [`Waiting`].
    Pending {},
    /// Every session; each item is a [`SessionSummary`](crate::ledger::SessionSummary).
    Sessions {},
    /// The confirmation requests and calls, open or not, whose ids begin with these digits; each
    /// item is a [`NamedId`].
    Named {
        /// 4 to 32 hexadecimal digits in lower case, without hyphens.
        digits: String,
    },
    /// Answer a confirmation request; done is an [`OnRecord`].
    Answer {
        /// The request.
        request: RequestId,
        /// What is said to it, as [`confirmation`] reads it; what is no answer is refused on
        /// record, and the request stays open.
        answer: Box<RawValue>,
        /// Who says it, where that is not the user of the service: a name that nobody checked.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Give the result of a paused call; done is an [`OnRecord`].
    Respond {
        /// The call, by its three keys and no other.
        #[serde(deserialize_with = "strict_ticket")]
        ticket: Ticket,
        /// The result: a JSON object.
        response: Box<RawValue>,
        /// It is news: the call stays paused, and more follows.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interim: bool,
        /// As in an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Say what became of a call whose outcome was unknown when it ended; done is an [`OnRecord`].
    Reconcile {
        /// The session.
        session: SessionId,
        /// The record of the call.
        call: Seq,
        /// What became of it, as [`finding`] reads it.
        found: Box<RawValue>,
        /// As in an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// Take back a call that is open; done is an [`OnRecord`].
    Cancel {
        /// The session.
        session: SessionId,
        /// The record of the call.
        call: Seq,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// As in an answer.
        #[serde(rename = "as", default, skip_serializing_if = "Option::is_none")]
        claimed: Option<String>,
    },
    /// The records of a session; each item is a [`LogItem`].
    Log {
        /// The session.
        session: SessionId,
        /// The first record, 1 if nothing is said.
        #[serde(default = "first")]
        from: Seq,
        /// Goes on with every record that comes, until the connection ends.
        #[serde(default)]
        follow: bool,
    },
}

impl Request {
    /// Reads a message, strictly: an object with one object in it, and no key that means nothing.
    pub(super) fn read(text: &str) -> Result<Request, serde_json::Error> {
        // Left alone, the reader takes an array for an object, value by value.
        let _: BTreeMap<String, BTreeMap<String, IgnoredAny>> = serde_json::from_str(text)?;
        serde_json::from_str(text)
    }
}

fn strict_ticket<'de, D: Deserializer<'de>>(reader: D) -> Result<Ticket, D::Error> {
    let given = Box::<RawValue>::deserialize(reader)?;
    ticket(given.get()).map_err(D::Error::custom)
}

/// A ticket from outside, strictly: an object with its three keys. One that has an `id` besides
/// would name the call twice, maybe another one, and one that names an actor would claim what the
/// door alone knows.
pub fn ticket(text: &str) -> Result<Ticket, serde_json::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        session: SessionId,
        call: Seq,
        tool: String,
    }
    let _: BTreeMap<String, IgnoredAny> = serde_json::from_str(text)?;
    let Strict {
        session,
        call,
        tool,
    } = serde_json::from_str(text)?;
    Ok(Ticket {
        session,
        call,
        tool,
    })
}

fn first() -> Seq {
    Seq(1)
}

/// One message of the service: items first, where there are any, then one of the others.
///
/// ```json
/// {"item":{"paused":{"call_id":"52ab…","session":"0199…","call":5,"tool":"pay"}}}
/// {"done":{"session":"0199…","seq":21,"tool":"refund","by":{"name":"ada","authenticated_by":"token"}}}
/// {"refused":{"code":"already_answered","text":"it was approved by ada before, at seq 21","session":"0199…"}}
/// {"error":{"code":"unknown_session","text":"there is no session 0199…"}}
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One of several.
    Item(Box<RawValue>),
    /// That was all, or it is on record.
    Done(Box<RawValue>),
    /// A rule said no.
    Refused(Refusal),
    /// It could not be done.
    Error(Problem),
}

/// What waits for somebody outside.
///
/// ```json
/// {"confirmation":{"request":"7c6f…","session":"0199…","tool":"refund","args":{"order":"A-17"}}}
/// {"paused":{"call_id":"52ab…","session":"0199…","call":5,"tool":"pay","args":{}}}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// For an answer.
    Confirmation(Box<PendingConfirmation>),
    /// For a response.
    Paused(PausedCall),
}

/// The id of a request or of a call, whatever became of it.
///
/// ```json
/// {"request":"7c6f…"}
/// {"call":"52ab…"}
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NamedId {
    /// A confirmation request.
    Request(RequestId),
    /// A call.
    Call(CallId),
}

/// An operation that is on record: an answer, a response, a finding, a cancellation or a close.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnRecord {
    /// The session.
    pub session: SessionId,
    /// The record of it.
    pub seq: Seq,
    /// The tool that was called; empty where the session is sealed and its key is not here, and
    /// where the operation is about no call.
    pub tool: String,
    /// Who it is from, as it stands on record.
    pub by: Actor,
    /// Of a call that was taken back, how often its tool had been started: what it has done by then
    /// stays done. Of anything else, and where it was not started, 0 and left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
}

fn is_zero(attempts: &u32) -> bool {
    *attempts == 0
}

/// One record of a session.
///
/// ```json
/// {"record":{"v":1,"session":"0199…","seq":1},"body":{"agent":"support"}}
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogItem {
    /// The record, byte for byte as it is stored.
    pub record: Box<RawValue>,
    /// Its body in clear, where that is sealed and the service has the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Box<RawValue>>,
}

/// Why something could not be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// A short stable name.
    pub code: String,
    /// What happened, in one line.
    pub text: String,
}

impl Problem {
    /// A problem of this name.
    pub fn new(code: &str, text: impl Into<String>) -> Problem {
        Problem {
            code: code.to_owned(),
            text: text.into(),
        }
    }
}

impl Reply {
    /// It is done, and this came of it.
    pub fn done(value: &impl Serialize) -> Reply {
        match serde_json::value::to_raw_value(value) {
            Ok(value) => Reply::Done(value),
            Err(error) => Reply::Error(Problem::new("broken", error.to_string())),
        }
    }
}

impl LogItem {
    /// The item of a record.
    ///
    /// # Errors
    /// None of what was read from a journal.
    pub fn of(entry: &Entry) -> Result<LogItem, ledger::Error> {
        let raw = |text: String| {
            let unwritable = |source| ledger::Error::Unwritable {
                session: entry.session,
                source,
            };
            RawValue::from_string(text).map_err(unwritable)
        };
        let line = String::from_utf8_lossy(entry.line.bytes()).into_owned();
        let body = match entry.body() {
            Ok(body) if entry.is_sealed() => Some(raw(body.to_owned())?),
            Ok(_) | Err(ledger::Error::Sealed { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(LogItem {
            record: raw(line)?,
            body,
        })
    }
}

/// What a person said, strictly: `confirmed` is a boolean, or else `found` says what became of a
/// call in doubt, alone. `reason` is a text, `payload` is something for the tool, `args` are
/// arguments in place of the model's, `request_hash` is that of the request that was seen, and
/// `hint` is what the person was told. Any other key is refused, and so is `null`: what is not said
/// is left out. A number in `payload` or `args` that would lose digits as a
/// [`Value`](serde_json::Value) is refused, too.
///
/// ```json
/// {"confirmed":true,"payload":{"days":3},"request_hash":"9f86…"}
/// {"confirmed":true,"args":{"amount":40,"to":"bob"}}
/// {"confirmed":false,"reason":"too much"}
/// {"found":{"done":{"receipt":17}}}
/// {"found":{"failed":"the bank refused it"}}
/// ```
///
/// # Errors
/// [`UnfitAnswer::Malformed`]: it says neither yes nor no, or something that means nothing. A service puts that on record, and the
/// request stays open.
pub fn confirmation(answer: &RawValue) -> Result<ToolConfirmation, UnfitAnswer> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Settled {
        found: Finding,
    }
    let checked = Json::parse(answer.get()).map_err(|problem| malformed(&problem.to_string()))?;
    let members = AnswerMembers::of(&checked)?;
    if members.has("found") {
        let settled = serde_json::from_str(checked.as_str());
        let Settled { found } =
            settled.map_err(|error: serde_json::Error| malformed(&error.to_string()))?;
        return Ok(match found {
            Finding::Failed(reason) => ToolConfirmation::settled_as_failed(reason),
            // Number for number as it was written.
            Finding::Done(_) => ToolConfirmation::found(found),
        });
    }
    members.strict()
}

/// What became of a call, strictly: `done` with its result or `failed` with the reason, and nothing
/// else.
///
/// ```json
/// {"done":{"receipt":17}}
/// ```
///
/// # Errors
/// A [`Problem`] that says what is wrong with it.
pub fn finding(found: &RawValue) -> Result<Finding, Problem> {
    let bad = |error: serde_json::Error| Problem::new("bad_answer", error.to_string());
    serde_json::from_str(checked(found)?.as_str()).map_err(bad)
}

/// JSON from outside as what Recount takes on record.
///
/// # Errors
/// A [`Problem`] where it nests too deep, or repeats a key.
pub fn checked(json: &RawValue) -> Result<Json, Problem> {
    Json::parse(json.get()).map_err(|problem| Problem::new("bad_json", problem.to_string()))
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
