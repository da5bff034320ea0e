//! The model of an agent that was called as a tool: what it is asked, and what it replies.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// `llm_asked`: on record before the agent's model is asked. A turn that was cut off before its
/// reply was on record is asked again.
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

/// `llm_replied`: what the agent's model said, in the batch in which all that follows from it is
/// recorded. The calls it makes are the next `function_call_received` with this `call` as their
/// `parent`, one for each part without text.
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
