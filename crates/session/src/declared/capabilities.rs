//! The capabilities of a model, as they are recorded.

use serde::{Deserialize, Serialize};

use super::catalog::Behavior;

/// The features of the protocol that a model supports. Unsupported features are not sent.
///
/// They depend on the model and on its platform: [`Capabilities::of`] knows them, and a program may
/// correct them. The capabilities in force are part of `connected`:
///
/// ```json
/// {"default_behavior":"blocking","async_tools":true,"blocking_tools":true,"scheduling":true,
///  "will_continue":true,
///  "client_content":true,"initial_history":false,"json_schema":true,"context_update":false,
///  "google_search":true,
///  "code_execution":false,"url_context":false}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Capabilities {
    /// The behavior of a function that is declared without one.
    pub default_behavior: Behavior,
    /// True if the model can continue while a function runs. `behavior` may be sent then, and
    /// always is.
    pub async_tools: bool,
    /// True if the model can wait for a function. Otherwise every function is declared
    /// `NON_BLOCKING`.
    pub blocking_tools: bool,
    /// True if a response may contain `scheduling`, the time at which the model uses it.
    pub scheduling: bool,
    /// True if a call may have several responses: `willContinue`. Otherwise only the first is a
    /// response, and the later ones are sent as conversation.
    pub will_continue: bool,
    /// True if turns may be added during a conversation: `clientContent`. Otherwise the user's
    /// words, and outcomes sent as conversation, are sent as `realtimeInput.text`.
    pub client_content: bool,
    /// True if the model accepts the turns of an earlier conversation without answering them, when
    /// the setup announces them: `historyConfig`. Otherwise they are sent as ordinary text.
    pub initial_history: bool,
    /// True if the model accepts function parameters as JSON Schema. Otherwise they are converted
    /// to the service's own subset of it.
    pub json_schema: bool,
    /// True if the model accepts a new instruction as `contextUpdate` during a conversation.
    /// Otherwise it is sent as text.
    pub context_update: bool,
    /// True if the model can search the web itself.
    pub google_search: bool,
    /// True if the model can run code itself.
    pub code_execution: bool,
    /// True if the model can read web pages itself.
    pub url_context: bool,
}

impl Default for Capabilities {
    /// All capabilities, the value of fields that a record leaves out.
    fn default() -> Capabilities {
        Capabilities {
            default_behavior: Behavior::Blocking,
            async_tools: true,
            blocking_tools: true,
            scheduling: true,
            will_continue: true,
            client_content: true,
            initial_history: true,
            json_schema: true,
            context_update: true,
            google_search: true,
            code_execution: true,
            url_context: true,
        }
    }
}
