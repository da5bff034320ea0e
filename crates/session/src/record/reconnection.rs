//! What happens between two connections: leaving one in good time, trying to get the next, telling
//! it what it does not know.

use serde::{Deserialize, Serialize};

use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// `switch_planned`: the connection will be left. No call that it brought starts on it any more;
/// what runs may end.
///
/// ```json
/// {"epoch":3,"due_us":1763700040000000}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchPlanned {
    /// The connection.
    pub epoch: Seq,
    /// When it is left at the latest; earlier if nothing is under way on it.
    pub due_us: Timestamp,
}

/// `reconnect_scheduled`: another connection will be tried for. The wait has a random part, so it
/// is observed and not decided.
///
/// ```json
/// {"attempt":2,"due_us":1763700000412000,"resumes":"c0ffee0123456789"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconnectScheduled {
    /// Which try since the last connection, from 1.
    pub attempt: u32,
    /// When.
    pub due_us: Timestamp,
    /// The fingerprint of the handle by which the conversation will be resumed; without it, a fresh
    /// one begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<String>,
}

/// `connect_failed`: a connection could not be opened, or its setup was refused.
///
/// ```json
/// {"attempt":1,"code":1007,"reason":"Request contains an invalid argument.","rejected":"c0ffee0123456789"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectFailed {
    /// Which try since the last connection, from 1.
    pub attempt: u32,
    /// The WebSocket close code, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// What was given as the reason.
    pub reason: String,
    /// The fingerprint of the handle that is given up because of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<String>,
}

/// `reconnects_exhausted`: no further try is made; what runs is cancelled, what waits stays open.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconnectsExhausted {
    /// How many tries there were.
    pub attempts: u32,
    /// Why there is no further one.
    pub reason: String,
}

/// `history_sent`: a connection was told of the conversation what it did not know.
///
/// ```json
/// {"epoch":40,"after":0,"through":39,"turns":12,"left_out":3,"answer_wanted":true,"form":"announced"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistorySent {
    /// The connection.
    pub epoch: Seq,
    /// What it knew already: everything through this record; 0 for nothing.
    pub after: Seq,
    /// The last record that is told of.
    pub through: Seq,
    /// How many turns were told.
    pub turns: u32,
    /// How many older ones were left out, because all of them would have been too much.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u32,
    /// Whether the model was asked to go on at once: its turn had been cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answer_wanted: bool,
    /// How it was told.
    #[serde(default, skip_serializing_if = "HistoryForm::is_turns")]
    pub form: HistoryForm,
}

/// How a history is told: as the model takes it, and as far as it lets one tell it without
/// answering.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryForm {
    /// As turns, of which it is said whether they want an answer: `clientContent`. Records of old
    /// versions say nothing else.
    #[default]
    Turns,
    /// As turns that the setup announced, which the model takes in without answering; what wants an
    /// answer followed.
    Announced,
    /// In one text of live input, because the model takes no turns there; it may answer what wanted
    /// no answer.
    LiveText,
}

impl HistoryForm {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
    fn is_turns(&self) -> bool {
        *self == HistoryForm::Turns
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// `runner_draining`: the process will end soon. It starts nothing more; what runs may end.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnerDraining {
    /// Why.
    pub reason: String,
}

/// `runner_detached`: the process let go in good order.
///
/// ```json
/// {"reason":"the engine shuts down","not_begun":[{"call":9,"attempt":1}]}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnerDetached {
    /// Why.
    pub reason: String,
    /// The starts on record whose tools had not begun and never will: they do not count, and
    /// nothing of them is in doubt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_begun: Vec<Start>,
}

/// What stands in the place of the words of a process that is gone without one.
const GONE: &str = "the process that could run tools is gone";

/// The reason for a detachment at the shutdown of the engine.
#[doc(hidden)]
pub const SHUT_DOWN: &str = "the engine shuts down";

impl RunnerDetached {
    /// As whoever takes the session up records it of a process that died.
    #[doc(hidden)]
    pub fn of_gone_process() -> RunnerDetached {
        RunnerDetached {
            reason: GONE.to_owned(),
            not_begun: Vec::new(),
        }
    }

    /// Whether it was recorded by whoever took the session up, and not by the process itself.
    #[doc(hidden)]
    pub fn is_of_gone_process(&self) -> bool {
        self.reason == GONE
    }

    /// True if the process itself ended with it.
    #[doc(hidden)]
    pub fn is_of_shutdown(&self) -> bool {
        self.reason == SHUT_DOWN
    }
}

/// `disconnected`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disconnected {
    /// The epoch that ended.
    pub epoch: Seq,
    /// The WebSocket close code, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// What was given as the reason.
    pub reason: String,
}

/// The reason to leave a connection that the service said it would end, in the words on record.
#[doc(hidden)]
pub const LEFT_IN_TIME: &str = "left before the service ends it";

/// The stand-in for the close of a connection whose process is gone.
const CONNECTION_GONE: &str = "the process that held the connection is gone";

impl Disconnected {
    /// The end of a connection whose process died, as the process that takes the session over
    /// records it.
    #[doc(hidden)]
    pub fn of_gone_process(epoch: Seq) -> Disconnected {
        Disconnected {
            epoch,
            code: None,
            reason: CONNECTION_GONE.to_owned(),
        }
    }

    /// True if another process recorded it in a takeover.
    #[doc(hidden)]
    pub fn is_of_gone_process(&self) -> bool {
        self.code.is_none() && self.reason == CONNECTION_GONE
    }

    /// True if the connection was left before the service ended it.
    #[doc(hidden)]
    pub fn is_of_switch(&self) -> bool {
        self.code.is_none() && self.reason == LEFT_IN_TIME
    }
}

/// A start of a call's tool.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The call.
    pub call: Seq,
    /// Which start of it.
    pub attempt: u32,
}
