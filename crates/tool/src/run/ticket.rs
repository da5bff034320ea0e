//! How a paused call is answered from anywhere, any time later.

use recount_session::{Seq, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Names a paused call so that any part of a service can give its result, after any number of
/// restarts.
///
/// ```json
/// {"session":"0199…","call":5,"tool":"ship_replacement"}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// The session.
    pub session: SessionId,
    /// The record of the call.
    pub call: Seq,
    /// The tool.
    pub tool: String,
}

/// What the model is told about a call.
///
/// ```
/// use recount_tool::FunctionResponse;
/// let response = FunctionResponse::new("ship_replacement", serde_json::json!({"tracking": "1Z"}));
/// assert_eq!(response.name, "ship_replacement");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionResponse {
    /// The tool's name, which must be the call's.
    pub name: String,
    /// The result, a JSON object. The model is told it as it is, whatever the agent's response
    /// shape.
    pub response: Value,
    /// The call's id, the model's or ours, where the caller knows it. The ticket already says which
    /// call is meant; the id of another one is refused.
    pub id: Option<String>,
}

impl FunctionResponse {
    /// A response of the tool `name`.
    pub fn new(name: impl Into<String>, response: Value) -> FunctionResponse {
        FunctionResponse {
            name: name.into(),
            response,
            id: None,
        }
    }
}
