//! What people outside say about calls.

use serde::{Deserialize, Serialize};

use super::finding::Finding;
use crate::json::Json;
use crate::values::actor::Actor;
use crate::values::id::Seq;

/// `confirmation_answered`: the one answer that counts.
///
/// ```json
/// {"request":7,"confirmed":true,"by":{"name":"ada","authenticated_by":"os_user"}}
/// {"request":7,"confirmed":true,"payload":{"cost_centre":"4711"},"edited_args":{"cents":4000},"by":{"name":"ada","authenticated_by":"os_user"}}
/// {"request":9,"confirmed":false,"found":{"done":{"receipt":17}},"by":{"name":"ada","authenticated_by":"os_user"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmationAnswered {
    /// The request.
    pub request: Seq,
    /// Yes or no.
    pub confirmed: bool,
    /// Why, in the person's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the person gave for the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
    /// The arguments with which the tool runs in place of those of the call, which stay on record there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_args: Option<Json>,
    /// What else the answer said: an object of the keys that mean nothing here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Json>,
    /// What became of the call that was in doubt: it does not run again, and this is its outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Finding>,
    /// Who.
    pub by: Actor,
}

/// `answer_refused`: somebody answered and it did not count.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRefused {
    /// The request they named.
    pub request: Seq,
    /// Why it did not count.
    pub refusal: String,
    /// Who.
    pub by: Actor,
    /// True on the last one recorded for the request: further refusals are only returned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub last_recorded: bool,
}

/// `response_supplied`: the result of a paused call, from outside, or news of it.
///
/// ```json
/// {"call":5,"response":{"shipped":true},"by":{"name":"warehouse","authenticated_by":"embedder"}}
/// {"call":5,"response":{"packed":3,"of":4},"will_continue":true,"by":{"name":"warehouse","authenticated_by":"embedder"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseSupplied {
    /// The call.
    pub call: Seq,
    /// The response for the model.
    pub response: Json,
    /// It is news and no end: more follows, and the call stays paused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub will_continue: bool,
    /// Who supplied it.
    pub by: Actor,
}

/// `outcome_found`: what became of a call that had ended without anybody knowing.
///
/// ```json
/// {"call":5,"tool":"pay","found":{"done":{"receipt":17}},"by":{"name":"ada","authenticated_by":"os_user"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeFound {
    /// The call.
    pub call: Seq,
    /// The tool that was called.
    pub tool: String,
    /// What became of it.
    pub found: Finding,
    /// Who says so.
    pub by: Actor,
}

/// `operator_cancelled`.
///
/// ```json
/// {"call":5,"reason":"wrong order","by":{"name":"ada","authenticated_by":"os_user"}}
/// {"call":6,"by":{"name":"ada","authenticated_by":"os_user"},"response":{"status":"cancelled","call_id":"fc-2"}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorCancelled {
    /// The call.
    pub call: Seq,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who.
    pub by: Actor,
    /// What the model is told, where the call ran in the background and has words of its own for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Json>,
}
