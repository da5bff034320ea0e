//! What a running tool says of itself.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::values::id::Seq;
use crate::values::scheduling::FunctionResponseScheduling;

/// `tool_returned`: the outcome and the response as it will be sent.
///
/// ```json
/// {"call":5,"attempt":1,"failed":false,"response":{"refunded":true}}
/// {"call":6,"attempt":1,"failed":true,"response":{"error":"no such order","kind":"execution_failed"},"error_kind":"execution_failed"}
/// {"call":7,"attempt":1,"failed":false,"response":{"success":true},"ends_session":"the user said goodbye"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolReturned {
    /// The call.
    pub call: Seq,
    /// Which start of it; an older attempt's report changes nothing.
    pub attempt: u32,
    /// Whether the tool failed.
    pub failed: bool,
    /// The response for the model.
    pub response: Json,
    /// The kind of the failure, as the model hears it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_kind: Option<String>,
    /// When the model should take it up, where the result says so itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<FunctionResponseScheduling>,
    /// The session is to end for this reason, once the model has been sent the response, or cannot
    /// be sent it any more; only where the tool did not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_session: Option<String>,
}

/// `tool_yielded`: one result of several, as it will be sent; the tool goes on.
///
/// ```json
/// {"call":5,"attempt":1,"runner":2,"response":{"step":2}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolYielded {
    /// The call.
    pub call: Seq,
    /// Which start of it; an older attempt's report changes nothing.
    pub attempt: u32,
    /// The runner that started it: the seq of its `runner_attached`. A start that had not begun
    /// gives its attempt to the next runner, so what comes late from the one before changes
    /// nothing, either. Absent: whichever runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<Seq>,
    /// The response for the model.
    pub response: Json,
}

/// `tool_paused`: the tool has begun, the result will be supplied later.
///
/// ```json
/// {"call":5,"attempt":1,"interim":{"status":"working"},"state":{"task":"t-17"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolPaused {
    /// The call.
    pub call: Seq,
    /// Which start of it.
    pub attempt: u32,
    /// What the model is told meanwhile; absent = nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interim: Option<Json>,
    /// What the tool wants to know again when it looks after the call; absent = what the model is
    /// told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Json>,
}

/// `tool_asked`: the tool has ended for now, and goes on from its state with the answer of a
/// person; or it waits for the answer where it stands.
///
/// ```json
/// {"call":5,"attempt":1,"hint":"How many days?","payload_schema":{"type":"integer"},"state":{"asked_for":5},"expires_after_ms":600000}
/// {"call":5,"attempt":1,"hint":"Send it?","state":null,"in_place":true}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolAsked {
    /// The call.
    pub call: Seq,
    /// Which start of it.
    pub attempt: u32,
    /// What the person is asked.
    pub hint: String,
    /// The JSON Schema that the payload of a yes must fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_schema: Option<Json>,
    /// What the tool wants to know again when it goes on; `null` where it waits and forgets
    /// nothing.
    pub state: Json,
    /// After how many milliseconds silence is a no; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_after_ms: Option<u64>,
    /// The run has not ended: it waits for the answer in its process, and ends with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
}

/// `tool_event_emitted`: something that a tool tells the embedding program, not the model.
///
/// ```json
/// {"call":5,"attempt":1,"name":"escalated","data":{"to":"ada"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolEventEmitted {
    /// The call.
    pub call: Seq,
    /// Which start of it.
    pub attempt: u32,
    /// The event's name, chosen by the tool.
    pub name: String,
    /// What it says.
    pub data: Json,
}
