//! Tools that clients run: a declaration without a body.

use serde_json::Value;

/// A tool whose calls are claimed, run and finished by clients outside the process.
#[derive(Debug)]
pub(crate) struct ClientTool {
    /// The name by which the model calls the tool.
    pub(crate) name: String,
    /// The description for the model.
    pub(crate) description: String,
    /// The JSON Schema of the arguments. `None`: any object is accepted.
    pub(crate) parameters: Option<Value>,
}
