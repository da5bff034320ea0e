//! Replies: the messages of the service, and the values in them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Refusal;
use crate::ledger::{self, Entry, PausedCall, PendingConfirmation};
use crate::session::{Actor, CallId, RequestId, Seq, SessionId, Timestamp};

/// A message of the service. An answer has any number of items, then one message of another kind.
///
/// ```json
/// {"item":{"paused":{"call_id":"52ab…","session":"0199…","call":5,"tool":"pay"}}}
/// {"done":{"session":"0199…","seq":21,"tool":"refund","by":{"name":"ada",
///  "authenticated_by":"token"}}}
/// {"refused":{"code":"already_answered","text":"it was approved by ada before, at seq 21",
///  "session":"0199…"}}
/// {"error":{"code":"unknown_session","text":"there is no session 0199…"}}
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// One of several items.
    Item(Box<RawValue>),
    /// The end of a listing, or the recorded operation.
    Done(Box<RawValue>),
    /// A rule rejected the request.
    Refused(Refusal),
    /// The request failed.
    Error(Problem),
}

/// A request or a call that waits for an answer from outside.
///
/// ```json
/// {"confirmation":{"request":"7c6f…","session":"0199…","tool":"refund","args":{"order":"A-17"}}}
/// {"paused":{"call_id":"52ab…","session":"0199…","call":5,"tool":"pay","args":{}}}
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// A confirmation request that waits for an approver.
    Confirmation(Box<PendingConfirmation>),
    /// A paused call that waits for a response.
    Paused(PausedCall),
}

/// The id of a confirmation request or a call, whatever its state.
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

/// A recorded operation: an answer, a response, a finding, a cancellation, a pause or a close.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnRecord {
    /// The session. For a pause of more than one, the nil id of the journal's own stream.
    pub session: SessionId,
    /// The seq of the operation's record.
    pub seq: Seq,
    /// The name of the called or paused tool. Empty if the session is sealed and its key is
    /// missing, or if the operation concerns no tool.
    pub tool: String,
    /// The recorded actor.
    pub by: Actor,
    /// The number of starts of a cancelled call's tool. Effects of these starts are not undone. 0,
    /// and omitted, for a tool that was not started and for other operations.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// True if a client's result came after its lease, and settled the doubt about the call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// The end of a renewed lease. A renewal never shortens it.
    #[serde(rename = "until_us", default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The number of approvals that are still needed after this one. 0, and omitted, for an answer
    /// that decided and for other operations.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missing: u32,
    /// True if an earlier request with the same idempotency key made the call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
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
    /// The decrypted body, if the record is sealed and the service has the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Box<RawValue>>,
}

/// The parts of a configuration that a service has read anew.
///
/// ```json
/// {"reloaded":["tokens"],"mistakes":["policies.toml:2:1: tools.pay.timeout: expected a time"]}
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloaded {
    /// The parts that are in force as their files have them now.
    pub reloaded: Vec<String>,
    /// The mistakes. The parts with a mistake stay as they were.
    pub mistakes: Vec<String>,
}

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// A short stable name.
    pub code: String,
    /// A description in one line.
    pub text: String,
}

impl Problem {
    /// Creates a problem with this code.
    pub fn new(code: &str, text: impl Into<String>) -> Problem {
        Problem {
            code: code.to_owned(),
            text: text.into(),
        }
    }
}

impl Reply {
    /// Creates the reply for a completed request.
    pub fn done(value: &impl Serialize) -> Reply {
        match serde_json::value::to_raw_value(value) {
            Ok(value) => Reply::Done(value),
            Err(error) => Reply::Error(Problem::new("broken", error.to_string())),
        }
    }
}

impl LogItem {
    /// Creates the item for a record.
    ///
    /// # Errors
    /// None for entries that were read from a journal.
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
