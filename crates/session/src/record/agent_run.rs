//! The run of an agent that was called as a tool: what its model was asked and replied, and the calls that came of it.
//!
//! All of it is on record, so that a run goes on in another process where it stood: a turn whose reply is on record is not paid for
//! again, and a call that has ended is not made again.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// `llm_asked`: on record before the agent's model is asked. A turn that was cut off before its reply was on record is asked again.
///
/// ```json
/// {"call":5,"attempt":1,"turn":1,"of":"verifier","model":"gemini-2.5-flash","request_sha256":"44136f…"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmAsked {
    /// The call of the agent.
    pub call: Seq,
    /// Which start of it; what an older one reports changes nothing.
    pub attempt: u32,
    /// Which turn of the whole run, from 1.
    pub turn: u32,
    /// The agent that asks: its name, behind its place where agents are put together: `0/verifier`.
    pub of: String,
    /// The model that is asked.
    pub model: String,
    /// SHA-256 of the request as JSON, without what only the way to the model adds.
    pub request_sha256: ObjectHash,
}

/// `llm_replied`: what the agent's model said, in the batch in which all that follows from it is recorded. The calls it makes are the next
/// `function_call_received` with this `call` as their `parent`, one for each part without text.
///
/// ```json
/// {"call":5,"attempt":1,"turn":1,"parts":[{"text":"Let me see."},{"signature":"c2ln"}],"usage":{"totalTokenCount":42}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmReplied {
    /// The call of the agent.
    pub call: Seq,
    /// Which start of it.
    pub attempt: u32,
    /// Which turn of the whole run, from 1.
    pub turn: u32,
    /// What it said, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<LlmPart>,
    /// The counts as the service gave them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Json>,
}

impl LlmReplied {
    /// How many calls it makes.
    ///
    /// ```
    /// use recount_session::{LlmPart, LlmReplied, Seq};
    /// let parts = vec![LlmPart { text: Some("Let me see.".into()), signature: None }, LlmPart::default()];
    /// let replied = LlmReplied { call: Seq(5), attempt: 1, turn: 1, parts, usage: None };
    /// assert_eq!(replied.calls(), 1);
    /// ```
    pub fn calls(&self) -> usize {
        self.parts.iter().filter(|part| part.text.is_none()).count()
    }
}

/// One part of a reply: a text, or the next of its calls.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmPart {
    /// The text; without it, the part is a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What the service wants back with this part, unread; Gemini calls it the thought signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// How far the run of an agent has come: references to its records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRun {
    /// The contract under which it started last.
    pub contract: Option<ObjectHash>,
    /// The `llm_asked` of the present start that has no reply yet.
    pub asked: Option<Seq>,
    /// The last `llm_asked` that has no reply, of whatever start.
    pub unanswered: Option<Seq>,
    /// The turns whose replies are on record.
    pub turns: Vec<AgentTurn>,
    /// How often its model could not be reached since the last reply.
    pub failures: u32,
    /// How much of its time limit is left while its model is not being asked, in microseconds.
    pub time_left_us: Option<i64>,
}

/// One turn of an agent's model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTurn {
    /// The `llm_asked`.
    pub asked: Seq,
    /// The `llm_replied`.
    pub replied: Seq,
    /// How many calls it made.
    pub made: u32,
    /// Those of them that were received.
    pub calls: Vec<AgentCall>,
}

/// A call that an agent's model made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCall {
    /// Its `function_call_received`.
    pub call: Seq,
    /// The `tool_yielded` of its last start, where its tool gives one result after another.
    pub gave: Vec<Seq>,
    /// What ended it: `response_issued` or `call_cancelled`.
    pub ended: Option<Seq>,
}
