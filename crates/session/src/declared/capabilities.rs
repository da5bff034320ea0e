//! What a model understands, as a record that stands in the journal.

use serde::{Deserialize, Serialize};

use super::catalog::Behavior;

/// What a model understands of what can be sent to it. What it does not understand is left off the
/// wire.
///
/// It depends on the model and on who serves it: [`Capabilities::of`] knows, and a program
/// that knows better says so. The record in force stands in `connected`:
///
/// ```json
/// {"default_behavior":"blocking","async_tools":true,"blocking_tools":true,"scheduling":true,"will_continue":true,
///  "client_content":true,"initial_history":false,"json_schema":true,"context_update":false,"google_search":true,
///  "code_execution":false,"url_context":false}
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Capabilities {
    /// Whether it waits for a function of which nothing is said.
    pub default_behavior: Behavior,
    /// It can go on while a function runs: `behavior` may be said, and always is.
    pub async_tools: bool,
    /// It can wait for a function; otherwise every one is declared `NON_BLOCKING`.
    pub blocking_tools: bool,
    /// A response may say when the model takes it up: `scheduling`.
    pub scheduling: bool,
    /// A call may have several responses: `willContinue`. Otherwise the first is the only one, and
    /// what follows is told as conversation.
    pub will_continue: bool,
    /// Turns may be added in the middle of a conversation: `clientContent`. Otherwise what the user
    /// says, and what is told as conversation, goes as `realtimeInput.text`.
    pub client_content: bool,
    /// It takes in the turns of an earlier conversation without answering them, where its setup
    /// announces them: `historyConfig`. Otherwise they are told as any other words.
    pub initial_history: bool,
    /// It takes the parameters of a function as JSON Schema; otherwise they are put into the
    /// service's own subset of it.
    pub json_schema: bool,
    /// It takes a new instruction as `contextUpdate` in the middle of a conversation; otherwise it
    /// is told as text.
    pub context_update: bool,
    /// It can search the web by itself.
    pub google_search: bool,
    /// It can run code by itself.
    pub code_execution: bool,
    /// It can read web pages by itself.
    pub url_context: bool,
}

impl Default for Capabilities {
    /// Everything: what stands in a record that does not say otherwise.
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
