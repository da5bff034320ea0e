//! The requests to the model of an agent that was called as a tool, and the replies.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// `llm_asked`: a request to the agent's model, recorded before it is sent. If a turn is cut off
/// before its reply is recorded, the request is sent again.
///
/// ```json
/// {"call":5,"attempt":1,"turn":1,"of":"verifier","model":"gemini-2.5-flash",
///  "request_sha256":"44136f…"}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmAsked {
    /// The call of the agent.
    pub call: Seq,
    /// The number of the start. Reports of an older start have no effect.
    pub attempt: u32,
    /// The number of the turn in the whole run, from 1.
    pub turn: u32,
    /// The agent that asks: its name after its position in a combination of agents, as in
    /// `0/verifier`.
    pub of: String,
    /// The model.
    pub model: String,
    /// The SHA-256 of the request as JSON, without the fields that only the transport adds.
    pub request_sha256: ObjectHash,
}

/// `llm_replied`: the reply of the agent's model, in one batch with its consequences. The
/// calls it makes are the next `function_call_received` records with this `call` as their `parent`,
/// one for each part without text.
///
/// ```json
/// {"call":5,"attempt":1,"turn":1,"parts":[{"text":"Let me see."},{"signature":"c2ln"}],
///  "usage":{"totalTokenCount":42}}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmReplied {
    /// The call of the agent.
    pub call: Seq,
    /// The number of the start.
    pub attempt: u32,
    /// The number of the turn in the whole run, from 1.
    pub turn: u32,
    /// The parts of the reply, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<LlmPart>,
    /// The token counts as the service sent them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Json>,
}

impl LlmReplied {
    /// Returns the number of calls in the reply.
    ///
    /// ```
    /// use recount_session::{LlmPart, LlmReplied, Seq};
    /// let text = Some("Let me see.".into());
    /// let parts = vec![LlmPart { text, signature: None }, LlmPart::default()];
    /// let replied = LlmReplied { call: Seq(5), attempt: 1, turn: 1, parts, usage: None };
    /// assert_eq!(replied.calls(), 1);
    /// ```
    pub fn calls(&self) -> usize {
        self.parts.iter().filter(|part| part.text.is_none()).count()
    }
}

/// One part of a reply: a text, or the next call.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LlmPart {
    /// The text. Without it, the part is a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// An opaque value that the service wants back with this part; Gemini calls it the thought
    /// signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}
