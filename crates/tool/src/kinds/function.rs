//! The trait of a tool that is a function.

use std::sync::Arc;

use async_trait::async_trait;
use recount_session::Json;
use serde_json::Value;

use crate::run::context::ToolContext;
use crate::run::error::ToolError;
use crate::run::outcome::ToolOutcome;
use crate::run::ticket::Ticket;
use recount_session::ToolConfirmation;

/// A function that the model may call.
///
/// ```
/// use async_trait::async_trait;
/// use recount_tool::{ToolError, ToolFunction};
/// use serde_json::{Value, json};
///
/// struct LookupAccount;
///
/// #[async_trait]
/// impl ToolFunction for LookupAccount {
///     fn name(&self) -> &str { "lookup_account" }
///     fn description(&self) -> &str { "Looks up an account by its id" }
///     fn parameters(&self) -> Option<Value> {
///         Some(json!({
///             "type": "object",
///             "properties": {"account_id": {"type": "string"}},
///             "required": ["account_id"]
///         }))
///     }
///     async fn call(&self, args: Value) -> Result<Value, ToolError> {
///         Ok(json!({"account_id": args["account_id"], "balance": 4250}))
///     }
/// }
///
/// # let mut tools = recount_tool::ToolDispatcher::new();
/// tools.register(LookupAccount)?;
/// # Ok::<(), recount_tool::RegistrationError>(())
/// ```
#[async_trait]
pub trait ToolFunction: Send + Sync + 'static {
    /// Returns the name by which the model calls the tool.
    fn name(&self) -> &str;

    /// Returns the description for the model.
    fn description(&self) -> &str;

    /// Returns the JSON Schema of the arguments; without one, any object is accepted.
    fn parameters(&self) -> Option<Value>;

    /// True if the tool reads its arguments as the text in [`ToolContext::args`], with every digit.
    ///
    /// Any other tool is not called with a number that a [`Value`] cannot hold, such as
    /// 20000000000000000001: the call fails with invalid arguments. If this is true, the `Value` of
    /// the arguments may lack digits.
    fn reads_text(&self) -> bool {
        false
    }

    /// Runs the function.
    async fn call(&self, args: Value) -> Result<Value, ToolError>;

    /// Runs the function with the context of its call.
    async fn call_with_context(
        &self,
        args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        drop(context);
        self.call(args).await
    }

    /// Runs the function, whose result may come later. The engine calls this method.
    ///
    /// Override it in a tool that sometimes returns at once and sometimes pauses. A tool that
    /// always pauses is simpler as a [`LongRunningFunctionTool`](crate::LongRunningFunctionTool).
    ///
    /// ```
    /// # use async_trait::async_trait;
    /// # use recount_tool::{Pending, ToolContext, ToolError, ToolFunction, ToolOutcome};
    /// # use serde_json::{Value, json};
    /// # struct Refund;
    /// #[async_trait]
    /// impl ToolFunction for Refund {
    /// #   fn name(&self) -> &str { "refund" }
    /// #   fn description(&self) -> &str { "Refunds" }
    /// #   fn parameters(&self) -> Option<Value> { None }
    ///     async fn call(&self, args: Value) -> Result<Value, ToolError> {
    ///         Ok(json!({"refunded": args["amount"]}))
    ///     }
    ///
    ///     async fn invoke(&self, args: Value, _context: ToolContext) -> ToolOutcome {
    ///         match args["amount"].as_u64() {
    ///             Some(1000..) => Pending::with_interim(json!({"ticket": "R-17"})).into(),
    ///             _ => self.call(args).await.into(),
    ///         }
    ///     }
    /// }
    /// ```
    async fn invoke(&self, args: Value, context: ToolContext) -> ToolOutcome {
        self.call_with_context(args, context).await.into()
    }

    /// Resumes after an approver has confirmed the tool's question.
    ///
    /// `resume` receives the state of its [`Ask`](crate::Ask) and the answer, perhaps weeks later
    /// and in another process. It may ask again, any number of times. The arguments are in
    /// [`ToolContext::args`]. A run cut off here is in doubt like any other; an idempotent tool is
    /// resumed again with the same state and answer.
    ///
    /// ```
    /// # use async_trait::async_trait;
    /// # use recount_tool::{
    /// #     Ask, ToolConfirmation, ToolContext, ToolError, ToolFunction, ToolOutcome,
    /// # };
    /// # use serde_json::{Value, json};
    /// struct TimeOff;
    ///
    /// #[async_trait]
    /// impl ToolFunction for TimeOff {
    ///     fn name(&self) -> &str { "time_off" }
    ///     fn description(&self) -> &str { "Asks for days off" }
    ///     fn parameters(&self) -> Option<Value> { None }
    ///     async fn call(&self, _args: Value) -> Result<Value, ToolError> {
    ///         Err(ToolError::NotAvailable("it asks".into()))
    ///     }
    ///
    ///     async fn invoke(&self, args: Value, _context: ToolContext) -> ToolOutcome {
    ///         Ask::new(
    ///             format!("{} days off?", args["days"]),
    ///             json!({"wanted": args["days"]}),
    ///         )
    ///         .into()
    ///     }
    ///
    ///     async fn resume(
    ///         &self,
    ///         _context: ToolContext,
    ///         state: Value,
    ///         answer: ToolConfirmation,
    ///     ) -> ToolOutcome {
    ///         let days = answer
    ///             .payload
    ///             .map_or(state["wanted"].clone(), |it| it["approved_days"].clone());
    ///         ToolOutcome::Returned(json!({"days": days}))
    ///     }
    /// }
    /// ```
    async fn resume(
        &self,
        _context: ToolContext,
        _state: Value,
        _answer: ToolConfirmation,
    ) -> ToolOutcome {
        ToolOutcome::Failed(ToolError::ExecutionFailed(
            "the tool has asked a person and does not say how it goes on".to_owned(),
        ))
    }

    /// True if the tool can wait for the result of a call that it has [paused](crate::Pending).
    /// Then an engine calls [`follow`](Self::follow).
    fn follows(&self) -> bool {
        false
    }

    /// Waits for the result of a paused call, for example of a job at another service.
    ///
    /// An engine calls it once the pause is recorded, and again after a restart with the same
    /// `state`. Without a state of its own, `state` is the recorded interim response. The returned
    /// value is the call's result, unless `Engine::respond` has supplied one earlier. With `None`,
    /// only `Engine::respond` can supply it. The result has the shape of the agent's responses, and
    /// a result that cannot be recorded is a failure. No time limit applies. The future is dropped
    /// when the call ends otherwise, when the engine shuts down or is dropped.
    ///
    /// ```
    /// # use async_trait::async_trait;
    /// # use recount_tool::{Pending, Ticket, ToolContext, ToolError, ToolFunction, ToolOutcome};
    /// # use serde_json::{Value, json};
    /// # struct Print;
    /// # impl Print {
    /// #     async fn printed(&self, _job: &Value) -> Result<Value, ToolError> {
    /// #         Ok(json!({"pages": 3}))
    /// #     }
    /// # }
    /// #[async_trait]
    /// impl ToolFunction for Print {
    /// #   fn name(&self) -> &str { "print" }
    /// #   fn description(&self) -> &str { "Prints" }
    /// #   fn parameters(&self) -> Option<Value> { None }
    /// #   async fn call(&self, _args: Value) -> Result<Value, ToolError> {
    /// #       Err(ToolError::NotAvailable("it pauses".into()))
    /// #   }
    ///     async fn invoke(&self, _args: Value, _context: ToolContext) -> ToolOutcome {
    ///         // hand the job over, then:
    ///         Pending::new().with_state(json!({"job": 17})).into()
    ///     }
    ///     fn follows(&self) -> bool { true }
    ///     async fn follow(
    ///         &self,
    ///         _ticket: &Ticket,
    ///         state: Value,
    ///     ) -> Option<Result<Value, ToolError>> {
    ///         Some(self.printed(state.get("job")?).await)
    ///     }
    /// }
    /// ```
    async fn follow(&self, _ticket: &Ticket, _state: Value) -> Option<Result<Value, ToolError>> {
        None
    }

    /// Waits like [`follow`](Self::follow), with the result as the text to record. The engine calls
    /// this method.
    async fn follow_text(&self, ticket: &Ticket, state: Value) -> Option<Result<Json, ToolError>> {
        let followed = self.follow(ticket, state).await;
        followed.map(|result| result.map(|value| Json::of(&value)))
    }

    /// Cancels the work of a call that the tool was following, if possible.
    ///
    /// Called after a person cancelled the call, or after the session closed. Also called after the
    /// model cancelled the call, if its policy has `withdraw_on_cancel`; otherwise the call
    /// continues. The `state` is the same as for [`follow`](Self::follow), whose future is dropped
    /// before. The method is not called for calls that end while no engine follows them.
    async fn call_off(&self, _ticket: &Ticket, _state: Value) {}

    /// Releases resources outside this process, such as a connection or a child process.
    ///
    /// An engine with this tool shuts down and runs none of its calls any more. Another engine may
    /// have the same tool, so a later call must acquire the resources again.
    async fn shut_down(&self) {}

    /// Returns the identity of the implementation, for a tool that starts a program or calls a
    /// server. An approval of a call covers it.
    ///
    /// It is part of the tool's contract. The engine reads it at registration and again before an
    /// approved call starts, on a thread that may block. If it has changed, the engine asks for a
    /// new approval. It is recorded in clear text, so use digests for parts that may be secret.
    fn implementation(&self) -> Option<Value> {
        None
    }

    /// True if a run can read the payload of an approval. If false, registration rejects a policy
    /// that asks for a payload.
    fn takes_confirmation(&self) -> bool {
        true
    }

    /// True if a call needs an approval before it runs.
    fn requires_confirmation(&self) -> bool {
        false
    }

    /// Returns the message for the approver.
    fn confirmation_message(&self) -> Option<&str> {
        None
    }

    /// True if the return value only says that the work has started, as for a
    /// [`LongRunningFunctionTool`](crate::LongRunningFunctionTool).
    fn is_long_running(&self) -> bool {
        false
    }
}

#[async_trait]
impl<F: ToolFunction + ?Sized> ToolFunction for Arc<F> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn description(&self) -> &str {
        (**self).description()
    }

    fn parameters(&self) -> Option<Value> {
        (**self).parameters()
    }

    fn reads_text(&self) -> bool {
        (**self).reads_text()
    }

    async fn call(&self, args: Value) -> Result<Value, ToolError> {
        (**self).call(args).await
    }

    async fn call_with_context(
        &self,
        args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        (**self).call_with_context(args, context).await
    }

    async fn invoke(&self, args: Value, context: ToolContext) -> ToolOutcome {
        (**self).invoke(args, context).await
    }

    async fn resume(
        &self,
        context: ToolContext,
        state: Value,
        answer: ToolConfirmation,
    ) -> ToolOutcome {
        (**self).resume(context, state, answer).await
    }

    fn follows(&self) -> bool {
        (**self).follows()
    }

    async fn follow(&self, ticket: &Ticket, state: Value) -> Option<Result<Value, ToolError>> {
        (**self).follow(ticket, state).await
    }

    async fn follow_text(&self, ticket: &Ticket, state: Value) -> Option<Result<Json, ToolError>> {
        (**self).follow_text(ticket, state).await
    }

    async fn call_off(&self, ticket: &Ticket, state: Value) {
        (**self).call_off(ticket, state).await;
    }

    async fn shut_down(&self) {
        (**self).shut_down().await;
    }

    fn implementation(&self) -> Option<Value> {
        (**self).implementation()
    }

    fn takes_confirmation(&self) -> bool {
        (**self).takes_confirmation()
    }

    fn requires_confirmation(&self) -> bool {
        (**self).requires_confirmation()
    }

    fn confirmation_message(&self) -> Option<&str> {
        (**self).confirmation_message()
    }

    fn is_long_running(&self) -> bool {
        (**self).is_long_running()
    }
}
