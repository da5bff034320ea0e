//! Reports of a running tool.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::values::id::Seq;
use crate::values::scheduling::FunctionResponseScheduling;

/// `tool_returned`: the end of a run, with the response as it will be sent.
///
/// ```json
/// {"call":5,"attempt":1,"failed":false,"response":{"refunded":true}}
/// {"call":6,"attempt":1,"failed":true,"response":{"error":"no such order",
///  "kind":"execution_failed"},"error_kind":"execution_failed"}
/// {"call":7,"attempt":1,"failed":false,"response":{"success":true},
///  "ends_session":"the user said goodbye"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolReturned {
    /// The call.
    pub call: Seq,
    /// The number of the start. Reports of an older attempt have no effect.
    pub attempt: u32,
    /// True if the tool failed.
    pub failed: bool,
    /// The response for the model.
    pub response: Json,
    /// The kind of the failure, as the model receives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_kind: Option<String>,
    /// The time at which the model should use the result, if the result sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<FunctionResponseScheduling>,
    /// The reason to close the session after the response was sent, or can no longer be sent. Only
    /// if the tool did not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_session: Option<String>,
}

/// `tool_yielded`: one of several results, as it will be sent. The tool continues.
///
/// ```json
/// {"call":5,"attempt":1,"runner":2,"response":{"step":2}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolYielded {
    /// The call.
    pub call: Seq,
    /// The number of the start. Reports of an older attempt have no effect.
    pub attempt: u32,
    /// The runner that started the attempt: the seq of its `runner_attached`. A start that had not
    /// begun passes its attempt number to the next runner, so late reports of the earlier runner
    /// have no effect. Absent: any runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runner: Option<Seq>,
    /// The response for the model.
    pub response: Json,
}

/// `tool_paused`: the tool has started work, and the result will be supplied later.
///
/// ```json
/// {"call":5,"attempt":1,"interim":{"status":"working"},"state":{"task":"t-17"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolPaused {
    /// The call.
    pub call: Seq,
    /// The number of the start.
    pub attempt: u32,
    /// The interim response for the model; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interim: Option<Json>,
    /// The state that the tool needs to check on the call later; absent if it equals the interim
    /// response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Json>,
}

/// `tool_asked`: a question of the tool to a person. The tool has ended for now and continues from
/// its state with the answer, or it waits for the answer in place.
///
/// ```json
/// {"call":5,"attempt":1,"hint":"How many days?","payload_schema":{"type":"integer"},
///  "state":{"asked_for":5},"expires_after_ms":600000}
/// {"call":5,"attempt":1,"hint":"Send it?","state":null,"in_place":true}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolAsked {
    /// The call.
    pub call: Seq,
    /// The number of the start.
    pub attempt: u32,
    /// The question for the person.
    pub hint: String,
    /// The JSON Schema of the payload of an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_schema: Option<Json>,
    /// The state from which the tool continues; `null` if it waits in place.
    pub state: Json,
    /// The time in milliseconds after which a missing answer counts as a denial; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_after_ms: Option<u64>,
    /// True if the run has not ended: it waits for the answer in its process, and ends with that
    /// process.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
}

/// `tool_event_emitted`: an event of a tool for the embedding program, not for the model.
///
/// ```json
/// {"call":5,"attempt":1,"name":"escalated","data":{"to":"ada"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolEventEmitted {
    /// The call.
    pub call: Seq,
    /// The number of the start.
    pub attempt: u32,
    /// The event's name, chosen by the tool.
    pub name: String,
    /// The data of the event.
    pub data: Json,
}
