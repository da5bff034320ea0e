//! A tool whose result comes later.

use std::sync::Arc;

use async_trait::async_trait;
use recount_session::Json;
use serde_json::Value;

use crate::kinds::function::ToolFunction;
use crate::run::context::ToolContext;
use crate::run::error::ToolError;
use crate::run::outcome::ToolOutcome;
use crate::run::ticket::Ticket;
use recount_session::ToolConfirmation;

/// A tool that starts work and returns. Its result is supplied later from outside, by the call's
/// id.
///
/// If it returns `null`, the call pauses and the model receives nothing. Any other value, even
/// `{}`, is sent to the model as an interim response, and the call stays pending. An error ends the
/// call. The description tells the model not to call the tool again meanwhile.
///
/// ```
/// use std::sync::Arc;
/// use recount_tool::{LongRunningFunctionTool, SimpleTool, ToolDispatcher};
/// use serde_json::Value;
///
/// let print = SimpleTool::new("print_contract", "Has a contract printed", None, |_args| async {
///     // hand the job over, then:
///     Ok(Value::Null)
/// });
/// let mut tools = ToolDispatcher::new();
/// tools.register(LongRunningFunctionTool::new(Arc::new(print)))?;
/// # Ok::<(), recount_tool::RegistrationError>(())
/// ```
pub struct LongRunningFunctionTool {
    function: Arc<dyn ToolFunction>,
}

impl LongRunningFunctionTool {
    /// Wraps a function as a long-running tool; its gate stays.
    #[must_use]
    pub fn new(function: Arc<dyn ToolFunction>) -> Self {
        Self { function }
    }
}

#[async_trait]
impl ToolFunction for LongRunningFunctionTool {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn description(&self) -> &str {
        self.function.description()
    }

    fn parameters(&self) -> Option<Value> {
        self.function.parameters()
    }

    fn reads_text(&self) -> bool {
        self.function.reads_text()
    }

    async fn call(&self, args: Value) -> Result<Value, ToolError> {
        self.function.call(args).await
    }

    async fn call_with_context(
        &self,
        args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        self.function.call_with_context(args, context).await
    }

    async fn invoke(&self, args: Value, context: ToolContext) -> ToolOutcome {
        self.function.invoke(args, context).await
    }

    async fn resume(
        &self,
        context: ToolContext,
        state: Value,
        answer: ToolConfirmation,
    ) -> ToolOutcome {
        self.function.resume(context, state, answer).await
    }

    fn follows(&self) -> bool {
        self.function.follows()
    }

    async fn follow(&self, ticket: &Ticket, state: Value) -> Option<Result<Value, ToolError>> {
        self.function.follow(ticket, state).await
    }

    async fn follow_text(&self, ticket: &Ticket, state: Value) -> Option<Result<Json, ToolError>> {
        self.function.follow_text(ticket, state).await
    }

    async fn call_off(&self, ticket: &Ticket, state: Value) {
        self.function.call_off(ticket, state).await;
    }

    async fn shut_down(&self) {
        self.function.shut_down().await;
    }

    fn implementation(&self) -> Option<Value> {
        self.function.implementation()
    }

    fn takes_confirmation(&self) -> bool {
        self.function.takes_confirmation()
    }

    fn requires_confirmation(&self) -> bool {
        self.function.requires_confirmation()
    }

    fn confirmation_message(&self) -> Option<&str> {
        self.function.confirmation_message()
    }

    fn is_long_running(&self) -> bool {
        true
    }
}

/// The note for the model in the description of a long-running tool.
pub(crate) const LONG_RUNNING_NOTE: &str = "NOTE: This is a long-running operation. Do not call this tool again while an earlier call is still pending.";

/// Returns a long-running tool's description without the note for the model.
#[doc(hidden)]
pub fn without_note(description: &str) -> &str {
    let stripped = description.strip_suffix(LONG_RUNNING_NOTE);
    stripped.map_or(description, |it| it.strip_suffix("\n\n").unwrap_or(it))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::approval::confirmation::StaticConfirmation;
    use crate::dispatch::dispatcher::ToolDispatcher;
    use crate::run::outcome::Ask;

    /// A tool that asks first, and returns its arguments after the approval.
    struct Contract;

    #[async_trait]
    impl ToolFunction for Contract {
        fn name(&self) -> &str {
            "print_contract"
        }

        fn description(&self) -> &str {
            "Has a contract printed"
        }

        fn parameters(&self) -> Option<Value> {
            None
        }

        async fn call(&self, _: Value) -> Result<Value, ToolError> {
            Err(ToolError::NotAvailable("it asks".to_owned()))
        }

        async fn invoke(&self, _: Value, _: ToolContext) -> ToolOutcome {
            Ask::new("In colour?", json!({"copies": 2})).into()
        }

        async fn resume(
            &self,
            context: ToolContext,
            state: Value,
            answer: ToolConfirmation,
        ) -> ToolOutcome {
            let args = context.args.map(|args| args.to_value());
            let colour = answer.confirmed;
            ToolOutcome::Returned(
                json!({"args": args, "copies": state.get("copies"), "colour": colour}),
            )
        }
    }

    /// A wrapper that does not forward a method silently uses the trait's default. Then an approval
    /// would not cover the implementation of the call.
    #[test]
    fn wrappers_pass_on_every_method_of_the_trait() {
        let methods = |text: &str| -> BTreeSet<String> {
            let lines = text.lines().filter(|it| !it.trim().starts_with("//"));
            let code: String = lines.map(|it| format!("{it}\n")).collect();
            let after = code
                .split("    fn ")
                .chain(code.split("    async fn "))
                .skip(1);
            let names = after.filter_map(|rest| rest.split_once('(').map(|(name, _)| name));
            let is_name = |name: &&str| name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            names.filter(is_name).map(str::to_owned).collect()
        };
        let function = include_str!("function.rs");
        let (of_trait, of_arc) = function.split_once("ToolFunction for Arc<F> {").unwrap();
        let (_, of_trait) = of_trait.split_once("pub trait ToolFunction").unwrap();
        let this = include_str!("long_running.rs");
        let (this, _) = this.split_once("#[cfg(test)]").unwrap();
        let (_, this) = this.split_once("impl ToolFunction for").unwrap();
        let expected = methods(of_trait);
        assert!(expected.contains("implementation") && expected.contains("invoke"));
        assert_eq!(methods(of_arc), expected);
        assert_eq!(methods(this), expected);
    }

    #[tokio::test]
    async fn resumed_long_running_tool_has_answer_and_arguments() {
        let mut tools =
            ToolDispatcher::new().with_confirmation_provider(StaticConfirmation::allow_all());
        let tool = LongRunningFunctionTool::new(Arc::new(Contract));
        tools.register(tool).unwrap();
        let order = json!({"order": "1001"});
        let result = tools
            .call_function("print_contract", order.clone())
            .await
            .unwrap();
        assert_eq!(result, json!({"args": order, "copies": 2, "colour": true}));
    }
}
