//! Short constructors for the kinds of tools, to combine with `|`. Those for policies are in
//! `t_approvals` and `t_policies`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::policy_tool::PolicyTool;
use super::text_agent::{TextAgent, TextAgentTool};
use super::toolset::Toolset;
use crate::kinds::function::ToolFunction;
use crate::kinds::input_streaming_tool::InputStreamingTool;
use crate::kinds::simple::SimpleTool;
use crate::kinds::streaming_tool::StreamingTool;
use crate::kinds::typed_tool::TypedTool;
use crate::run::error::ToolError;
use crate::run::state::State;

/// Short names for tools and policies.
///
/// Policies compose in any order, and none is lost. If one is set twice, the stricter applies, as
/// [`ToolPolicy::merged`](crate::ToolPolicy::merged) defines. On a set of tools, a policy applies
/// to each tool. A policy without meaning for its tool, such as a gate on a server-side tool, is an
/// error at registration.
///
/// ```
/// use std::time::Duration;
/// use recount_tool::T;
/// use serde_json::json;
///
/// let tools = T::timeout(
///     T::simple("search", "Searches the knowledge base", |args| async move { Ok(json!({"for": args})) }),
///     Duration::from_secs(10),
/// ) | T::confirm(
///     T::simple("send_email", "Sends an email", |_args| async { Ok(json!({"sent": true})) }),
///     "This sends a real email. Are you sure?",
/// );
/// assert_eq!(tools.tools().len(), 2);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct T;

impl T {
    /// Creates a tool from a closure that accepts any object.
    pub fn simple<F, Fut>(
        name: impl Into<String>,
        description: impl Into<String>,
        handler: F,
    ) -> Toolset
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        SimpleTool::new(name, description, None, handler).into()
    }

    /// Creates a tool from a closure whose arguments are checked against a JSON Schema.
    ///
    /// ```
    /// # use recount_tool::T;
    /// # use serde_json::json;
    /// let weather = T::simple_with(
    ///     "get_weather",
    ///     "Tells the weather in a city",
    ///     json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
    ///     |args| async move { Ok(json!({"city": args["city"], "temperature_c": 22})) },
    /// );
    /// ```
    pub fn simple_with<F, Fut>(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
        handler: F,
    ) -> Toolset
    where
        F: Fn(Value) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        SimpleTool::new(name, description, Some(schema), handler).into()
    }

    /// Creates a tool from a closure whose arguments are a Rust type; see [`TypedTool`].
    ///
    /// ```
    /// # use recount_tool::T;
    /// # use serde_json::json;
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Weather {
    ///     /// The city
    ///     city: String,
    /// }
    ///
    /// let weather = T::typed("get_weather", "Tells the weather in a city", |args: Weather| async move {
    ///     Ok(json!({"city": args.city, "temperature_c": 22}))
    /// });
    /// ```
    pub fn typed<A, F, Fut>(
        name: impl Into<String>,
        description: impl Into<String>,
        handler: F,
    ) -> Toolset
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        TypedTool::new(name, description, handler).into()
    }

    /// Creates a text agent that the model calls by name; see
    /// [`TextAgentTool`](crate::TextAgentTool).
    ///
    /// ```
    /// use recount_tool::{LlmAgent, LlmReply, ScriptedLlm, T};
    ///
    /// let verifier = LlmAgent::new("verifier", ScriptedLlm::new([LlmReply::text("It is Ada.")]));
    /// let verify = T::confirm(
    ///     T::agent("verify_identity", "Verifies a caller's identity", verifier),
    ///     "Verify the caller?",
    /// );
    /// assert!(verify.tools()[0].requires_confirmation());
    /// ```
    pub fn agent(
        name: impl Into<String>,
        description: impl Into<String>,
        agent: impl TextAgent,
    ) -> Toolset {
        TextAgentTool::new(name, description, agent, State::default()).into()
    }

    /// Creates a tool that clients outside the process run. A client claims a call, runs it, and
    /// reports the result before its lease passes.
    ///
    /// The call stays ready until a client claims it, also over restarts. The time limit of the
    /// tool bounds the run, and the lease bounds the silence of the client. If the lease passes,
    /// the call is in doubt, and the [`in_doubt`](T::in_doubt) rule of the tool applies.
    ///
    /// ```
    /// use recount_tool::T;
    /// use serde_json::json;
    ///
    /// let pack = T::client(
    ///     "pack_order",
    ///     "Packs an order",
    ///     json!({"type": "object", "properties": {"order": {"type": "integer"}}}),
    /// );
    /// let pack = T::confirm(T::idempotent(pack), "Pack this order?");
    /// assert!(pack.tools()[0].kind().runs_at_client());
    /// ```
    #[must_use]
    pub fn client(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
    ) -> Toolset {
        PolicyTool::client(name, description, Some(schema)).into()
    }

    /// Creates a tool from your own type.
    #[must_use]
    pub fn function(function: Arc<dyn ToolFunction>) -> Toolset {
        PolicyTool::from(function).into()
    }

    /// Creates several tools at once.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use recount_tool::{SimpleTool, T, ToolFunction};
    /// # let a = SimpleTool::new("a", "", None, |_| async { Ok(1.into()) });
    /// # let b = SimpleTool::new("b", "", None, |_| async { Ok(2.into()) });
    /// let tools: Vec<Arc<dyn ToolFunction>> = vec![Arc::new(a), Arc::new(b)];
    /// let tools = T::toolset(tools);
    /// ```
    #[must_use]
    pub fn toolset(functions: Vec<Arc<dyn ToolFunction>>) -> Toolset {
        functions.into()
    }

    /// Creates a tool that sends one result after another.
    ///
    /// ```
    /// # use async_trait::async_trait;
    /// # use recount_tool::{StreamingTool, T, ToolError};
    /// # use serde_json::{Value, json};
    /// # use std::sync::Arc;
    /// # use std::time::Duration;
    /// # use tokio::sync::mpsc;
    /// # struct CountDown;
    /// # #[async_trait]
    /// # impl StreamingTool for CountDown {
    /// #     fn name(&self) -> &str { "count_down" }
    /// #     fn description(&self) -> &str { "Counts down" }
    /// #     fn parameters(&self) -> Option<Value> { None }
    /// #     async fn run(&self, _: Value, _: mpsc::Sender<Value>) -> Result<(), ToolError> {
    /// #         Ok(())
    /// #     }
    /// # }
    /// let tools = T::timeout(T::streaming(Arc::new(CountDown)), Duration::from_secs(60));
    /// assert_eq!(tools.tools()[0].name(), "count_down");
    /// ```
    #[must_use]
    pub fn streaming(tool: Arc<dyn StreamingTool>) -> Toolset {
        tool.into()
    }

    /// Creates a tool that receives the user's input while it runs; see [`InputStreamingTool`].
    ///
    /// ```
    /// # use async_trait::async_trait;
    /// # use recount_tool::{InputEvent, InputStreamingTool, T, ToolError};
    /// # use serde_json::{Value, json};
    /// # use std::sync::Arc;
    /// # use tokio::sync::{broadcast, mpsc};
    /// # struct Listen;
    /// # #[async_trait]
    /// # impl InputStreamingTool for Listen {
    /// #     fn name(&self) -> &str { "listen" }
    /// #     fn description(&self) -> &str { "Listens" }
    /// #     fn parameters(&self) -> Option<Value> { None }
    /// #     async fn run(
    /// #         &self, _: Value, _: broadcast::Receiver<InputEvent>, _: mpsc::Sender<Value>,
    /// #     ) -> Result<(), ToolError> { Ok(()) }
    /// # }
    /// let tools = T::input_streaming(Arc::new(Listen)) | T::google_search();
    /// # assert_eq!(tools.tools().len(), 2);
    /// ```
    #[must_use]
    pub fn input_streaming(tool: Arc<dyn InputStreamingTool>) -> Toolset {
        tool.into()
    }

    /// Makes tools long-running, with results supplied later from outside; see
    /// [`LongRunningFunctionTool`](crate::LongRunningFunctionTool).
    ///
    /// ```
    /// use recount_tool::T;
    /// use serde_json::Value;
    ///
    /// let ask = T::long_running(T::simple("ask_warehouse", "Asks the warehouse", |_args| async {
    ///     // pass the question on, then:
    ///     Ok(Value::Null)
    /// }));
    /// ```
    #[must_use]
    pub fn long_running(tool: impl Into<Toolset>) -> Toolset {
        tool.into().map(PolicyTool::long_running)
    }

    /// Returns Google Search, which the service runs itself.
    #[must_use]
    pub fn google_search() -> Toolset {
        Self::server_side("google_search", json!({"googleSearch": {}}))
    }

    /// Returns the execution of code that the model writes, which the service runs itself.
    #[must_use]
    pub fn code_execution() -> Toolset {
        Self::server_side("code_execution", json!({"codeExecution": {}}))
    }

    /// Returns the reading of web pages named in the conversation, which the service runs itself.
    #[must_use]
    pub fn url_context() -> Toolset {
        Self::server_side("url_context", json!({"urlContext": {}}))
    }

    /// Creates any other server-side tool from the service's declaration, an object with one field.
    ///
    /// The name is used only in this library, for the registry and for lists. The service never
    /// sends calls of such a tool. So a policy on it has no meaning and is an error at
    /// registration.
    ///
    /// ```
    /// use recount_tool::T;
    /// use serde_json::json;
    ///
    /// let maps = T::server_side("google_maps", json!({"googleMaps": {"enableWidget": true}}));
    /// assert_eq!(
    ///     maps.tools()[0].declaration().server_side,
    ///     Some(json!({"googleMaps": {"enableWidget": true}}))
    /// );
    /// ```
    #[must_use]
    pub fn server_side(name: impl Into<String>, declaration: Value) -> Toolset {
        PolicyTool::server_side(name, declaration).into()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
#[path = "t_tests.rs"]
mod tests;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
#[path = "form_pairs_tests.rs"]
mod form_pairs_tests;
