//! Observations between two connections: planned switches, attempts, history and detachment.

use serde::{Deserialize, Serialize};

use crate::values::id::Seq;
use crate::values::time::Timestamp;

/// `switch_planned`: the connection will be replaced. No further call that it brought starts;
/// running calls may end.
///
/// ```json
/// {"epoch":3,"due_us":1763700040000000}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwitchPlanned {
    /// The connection.
    pub epoch: Seq,
    /// The latest time of the switch. It happens earlier if nothing is in flight on the connection.
    pub due_us: Timestamp,
}

/// `reconnect_scheduled`: another attempt to connect will be made. The wait has a random part, so
/// this is an observation and not a decision.
///
/// ```json
/// {"attempt":2,"due_us":1763700000412000,"resumes":"c0ffee0123456789"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconnectScheduled {
    /// The number of the attempt since the last connection, from 1.
    pub attempt: u32,
    /// The time of the attempt.
    pub due_us: Timestamp,
    /// The fingerprint of the handle by which the conversation will be resumed. Absent if a fresh
    /// one begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<String>,
}

/// `connect_failed`: a connection could not be opened, or its setup was rejected.
///
/// ```json
/// {"attempt":1,"code":1007,"reason":"Request contains an invalid argument.",
///  "rejected":"c0ffee0123456789"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectFailed {
    /// The number of the attempt since the last connection, from 1.
    pub attempt: u32,
    /// The WebSocket close code, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// The reason as reported.
    pub reason: String,
    /// The fingerprint of the handle that is dropped because of this failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<String>,
}

/// `reconnects_exhausted`: no further attempt is made. The runner may detach in the same batch;
/// waiting calls stay open.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconnectsExhausted {
    /// The number of attempts.
    pub attempts: u32,
    /// The reason why no further attempt is made.
    pub reason: String,
}

/// `history_sent`: a connection received the part of the conversation that it did not know.
///
/// ```json
/// {"epoch":40,"after":0,"through":39,"turns":12,"left_out":3,"answer_wanted":true,
///  "form":"announced"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistorySent {
    /// The connection.
    pub epoch: Seq,
    /// The last record that the connection knew already; 0 for none.
    pub after: Seq,
    /// The last record in the history.
    pub through: Seq,
    /// The number of turns in the history.
    pub turns: u32,
    /// The number of older turns that were left out because of the size limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u32,
    /// True if the model was asked to continue at once, because its turn had been cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answer_wanted: bool,
    /// The form of the history.
    #[serde(default, skip_serializing_if = "HistoryForm::is_turns")]
    pub form: HistoryForm,
}

/// The form of a history, chosen by what the model supports.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryForm {
    /// Turns with a flag for whether they want an answer: `clientContent`. Records of old versions
    /// have only this form.
    #[default]
    Turns,
    /// Turns that the setup announced and the model does not answer. The turn that wants an answer
    /// followed.
    Announced,
    /// One text of live input, because the model does not accept turns there. The model may answer
    /// it even if no answer is wanted.
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

/// `runner_draining`: the process will end soon. It starts no more calls; running calls may end.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnerDraining {
    /// The reason.
    pub reason: String,
}

/// `runner_detached`: the process detached from the session.
///
/// ```json
/// {"reason":"the engine shuts down","not_begun":[{"call":9,"attempt":1}]}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnerDetached {
    /// The reason.
    pub reason: String,
    /// The recorded starts whose tools had not begun and never will. They do not count, and they
    /// leave nothing in doubt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_begun: Vec<Start>,
}

/// The reason recorded for a process that died without detaching.
const GONE: &str = "the process that could run tools is gone";

/// The reason for a detachment at the shutdown of the engine.
#[doc(hidden)]
pub const SHUT_DOWN: &str = "the engine shuts down";

impl RunnerDetached {
    /// The detachment of a process that died, as the process that takes the session over records
    /// it.
    #[doc(hidden)]
    pub fn of_gone_process() -> RunnerDetached {
        RunnerDetached {
            reason: GONE.to_owned(),
            not_begun: Vec::new(),
        }
    }

    /// True if another process recorded it in a takeover.
    #[doc(hidden)]
    pub fn is_of_gone_process(&self) -> bool {
        self.reason == GONE
    }

    /// True if the process itself shut down.
    #[doc(hidden)]
    pub fn is_of_shutdown(&self) -> bool {
        self.reason == SHUT_DOWN
    }
}

/// `disconnected`: the end of a connection.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disconnected {
    /// The epoch that ended.
    pub epoch: Seq,
    /// The WebSocket close code, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
    /// The reason as reported.
    pub reason: String,
}

/// The recorded reason for leaving a connection that the service announced to end.
#[doc(hidden)]
pub const LEFT_IN_TIME: &str = "left before the service ends it";

/// The recorded reason for a connection whose process died.
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
    /// The number of the start.
    pub attempt: u32,
}
