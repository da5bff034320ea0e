//! The short names: tools and the policies on them, to be put together with `|`.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{RegisteredTool, SimpleTool, ToolError, ToolFunction, Toolset, TypedTool};
use crate::session::policy::{Confirm, InDoubt, ToolPolicy};

/// The short names of tools and policies.
///
/// Policies compose in any order and none can be lost; the same one twice means the shorter time, either gate, both
/// hints. On a set of several tools a policy holds for each.
///
/// ```
/// use std::time::Duration;
/// use recount::tool::T;
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
    /// A closure that takes any object.
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

    /// A closure whose arguments are checked against a JSON Schema before it runs.
    ///
    /// ```
    /// # use recount::tool::T;
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

    /// A closure whose arguments are a Rust type; see [`TypedTool`].
    ///
    /// ```
    /// # use recount::tool::T;
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

    /// A tool of a type of yours.
    #[must_use]
    pub fn function(function: Arc<dyn ToolFunction>) -> Toolset {
        RegisteredTool::new(function).into()
    }

    /// Several tools at once.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use recount::tool::{SimpleTool, T, ToolFunction};
    /// # let a = SimpleTool::new("a", "", None, |_| async { Ok(1.into()) });
    /// # let b = SimpleTool::new("b", "", None, |_| async { Ok(2.into()) });
    /// let tools: Vec<Arc<dyn ToolFunction>> = vec![Arc::new(a), Arc::new(b)];
    /// let tools = T::toolset(tools);
    /// ```
    #[must_use]
    pub fn toolset(functions: Vec<Arc<dyn ToolFunction>>) -> Toolset {
        functions.into()
    }

    /// A person must agree to each call before it runs, and is told the hint.
    #[must_use]
    pub fn confirm(tool: impl Into<Toolset>, hint: impl Into<String>) -> Toolset {
        let confirm = Some(Confirm::with_hint(hint));
        Self::policy(
            tool,
            ToolPolicy {
                confirm,
                ..ToolPolicy::default()
            },
        )
    }

    /// A run may take this long; waiting for a person does not count.
    #[must_use]
    pub fn timeout(tool: impl Into<Toolset>, limit: Duration) -> Toolset {
        // Rounded up, so that a short limit is not taken for none at all.
        let millis = limit.as_nanos().div_ceil(1_000_000);
        let timeout_ms = Some(u64::try_from(millis).unwrap_or(u64::MAX));
        Self::policy(
            tool,
            ToolPolicy {
                timeout_ms,
                ..ToolPolicy::default()
            },
        )
    }

    /// Declares what becomes of a call that was cut off between its start and its result.
    ///
    /// [`InDoubt::Retry`] declares the tool idempotent: it may be run again with the same idempotency key.
    ///
    /// ```
    /// use recount::session::policy::InDoubt;
    /// use recount::tool::T;
    /// use serde_json::json;
    ///
    /// let read = T::simple("read", "Reads", |_args| async { Ok(json!({"balance": 7})) });
    /// let pay = T::simple("pay", "Pays", |_args| async { Ok(json!({"paid": true})) });
    /// let tools = T::in_doubt(read, InDoubt::Retry) | T::in_doubt(T::confirm(pay, "Pay?"), InDoubt::Ask);
    /// ```
    #[must_use]
    pub fn in_doubt(tool: impl Into<Toolset>, rule: InDoubt) -> Toolset {
        tool.into().map(|tool| tool.with_in_doubt(rule))
    }

    /// Its result is supplied later from outside; see [`LongRunningFunctionTool`](super::LongRunningFunctionTool).
    ///
    /// ```
    /// use recount::tool::T;
    /// use serde_json::Value;
    ///
    /// let ask = T::long_running(T::simple("ask_warehouse", "Asks the warehouse", |_args| async {
    ///     // pass the question on, then:
    ///     Ok(Value::Null)
    /// }));
    /// ```
    #[must_use]
    pub fn long_running(tool: impl Into<Toolset>) -> Toolset {
        tool.into().map(RegisteredTool::long_running)
    }

    /// The argument at a JSON Pointer is secret: the journal has it sealed, the tool gets it open.
    ///
    /// It is sealed under the session's key before the call goes on record, whatever the tool's session is otherwise, so
    /// the engine needs a key store. Whoever is asked for leave sees that something stands there, and the leave binds
    /// the sealed bytes; within a session the same secret at the same place has the same ones. Where a part of the way
    /// is no object, that part is sealed whole.
    ///
    /// ```
    /// use recount::tool::T;
    /// use serde_json::json;
    ///
    /// let pay = T::secret(
    ///     T::simple("pay", "Pays by card", |args| async move { Ok(json!({"last": args["card"]["number"]})) }),
    ///     "/card/number",
    /// );
    /// assert_eq!(pay.tools()[0].declaration().secret, ["/card/number"]);
    /// ```
    #[must_use]
    pub fn secret(tool: impl Into<Toolset>, pointer: impl Into<String>) -> Toolset {
        let pointer = pointer.into();
        tool.into().map(|tool| tool.with_secret(pointer.clone()))
    }

    /// A cancellation by the model withdraws an open confirmation instead of only being noted on it.
    #[must_use]
    pub fn withdraw_on_cancel(tool: impl Into<Toolset>) -> Toolset {
        Self::policy(
            tool,
            ToolPolicy {
                withdraw_on_cancel: true,
                ..ToolPolicy::default()
            },
        )
    }

    /// Any policy, added to what the tool has.
    #[must_use]
    pub fn policy(tool: impl Into<Toolset>, policy: ToolPolicy) -> Toolset {
        tool.into().map(|tool| tool.with_policy(policy.clone()))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
#[path = "t_tests.rs"]
mod tests;
