//! An event-sourced session engine for live LLM agents, with a replayable journal.
//!
#![doc = include_str!("../README.md")]

#[cfg(feature = "mcp")]
pub use recount_mcp as mcp;
pub use recount_session as session;
pub use recount_session::story;
#[cfg(feature = "simulator")]
pub use recount_simulator as simulator;
pub use recount_tool as tool;

pub mod adk;
pub mod audit;
pub mod compare;
pub mod control;
pub mod engine;
pub mod fixture;
#[cfg(doc)]
pub mod guide;
pub mod ledger;
pub mod live;
#[cfg(feature = "play")]
pub mod play;
pub mod prelude;
pub mod replay;
#[cfg(any(test, feature = "given"))]
pub mod testing;

pub use engine::Live;
pub use engine::{
    Agent, ConfirmationProvider, ConfirmationRequest, Engine, FunctionResponse, LiveHandle,
    StaticConfirmation, Ticket, ToolConfirmation,
};
pub use recount_journal as journal;
/// Makes an async function a tool that a model can call.
///
/// The function becomes a constructor of the same name and visibility,
/// `fn get_weather() -> impl ToolFunction`. Its parameters are the arguments: any type that is
/// `Deserialize + JsonSchema`, read as by [`TypedTool`](tool::TypedTool). `Option` parameters are
/// optional arguments.
///
/// ```
/// use recount::prelude::*;
/// use std::sync::Arc;
///
/// #[tool("Get the current weather for a city")]
/// async fn get_weather(city: String, units: Option<String>) -> Result<Value, ToolError> {
///     Ok(json!({ "city": city, "temp_c": 22, "units": units.unwrap_or("metric".into()) }))
/// }
///
/// let mut dispatcher = ToolDispatcher::new();
/// dispatcher.register_function(Arc::new(get_weather()))?;
/// # Ok::<(), recount::tool::RegistrationError>(())
/// ```
///
/// * The name is the function's, or `name = ".."`. The description is the string, or
///   `description = ".."`, or the doc comment. One of the three is required.
/// * A parameter is described by a doc comment of its own, or by its item in an `# Arguments` list
///   of the function. Attributes of serde and schemars apply to it as to a field.
/// * A parameter of type [`ToolContext`] is filled by the runtime. The model does not see it.
/// * The function returns a value that serializes to JSON, a `Result` of one, or nothing, which the
///   model receives as `null`. An error that is or converts into a [`ToolError`] keeps its kind.
///   Any other error becomes a [`ToolError::ExecutionFailed`] with its message.
///
/// ```
/// use recount::prelude::*;
///
/// /// Pays an invoice.
/// ///
/// /// # Arguments
/// /// * `invoice` - The number on the invoice
/// #[tool(name = "pay_invoice")]
/// async fn pay(
///     invoice: String,
///     /// Pay only if it is due within this many days
///     #[serde(default)]
///     due_days: u32,
///     context: ToolContext,
/// ) -> Result<String, std::io::Error> {
///     Ok(format!("paid {invoice}, due within {due_days} days, as {}", context.idempotency_key()))
/// }
///
/// let pay = T::confirm(pay(), "Pay this invoice?");
/// ```
pub use recount_macros::tool;
pub use schemars;
pub use tool::{T, ToolContext, ToolDispatcher, ToolError, ToolFunction};
