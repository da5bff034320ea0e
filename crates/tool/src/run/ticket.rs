//! The ticket of a paused call, with which its result can be supplied later.

use recount_session::{Seq, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A reference to a paused call, with which any part of a service can supply its result. It stays
/// valid after restarts.
///
/// ```json
/// {"session":"0199…","call":5,"tool":"ship_replacement"}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// The session of the call.
    pub session: SessionId,
    /// The sequence number of the call's record.
    pub call: Seq,
    /// The name of the tool.
    pub tool: String,
}

/// A response to a call.
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
    /// The result, a JSON object. The model receives it unchanged; the agent's response shape does
    /// not apply.
    pub response: Value,
    /// The id of the call, the model's or the call's own, if the caller knows it. The ticket
    /// already names the call; the id of another call is rejected.
    pub id: Option<String>,
}

impl FunctionResponse {
    /// Creates a response of the tool `name`.
    pub fn new(name: impl Into<String>, response: Value) -> FunctionResponse {
        FunctionResponse {
            name: name.into(),
            response,
            id: None,
        }
    }
}
