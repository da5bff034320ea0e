//! What a tool is made of.

use std::sync::Arc;

use async_trait::async_trait;
use recount_session::Json;
use serde_json::Value;

use crate::run::context::ToolContext;
use crate::run::error::ToolError;
use crate::run::outcome::ToolOutcome;
use crate::run::ticket::Ticket;
use recount_session::ToolConfirmation;

/// A function the model may call.
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
    /// The name the model calls it by.
    fn name(&self) -> &str;

    /// What it does, in words for the model.
    fn description(&self) -> &str;

    /// The JSON Schema of its arguments; without one, any object is accepted.
    fn parameters(&self) -> Option<Value>;

    /// True if it reads its arguments as the text in [`ToolContext::args`], with every digit.
    ///
    /// Any other tool is not called with a number that a [`Value`] does not hold, such as
    /// 20000000000000000001: the call has invalid arguments. Where this is true, the value that it
    /// gets may lack digits.
    fn reads_text(&self) -> bool {
        false
    }

    /// Does the work.
    async fn call(&self, args: Value) -> Result<Value, ToolError>;

    /// Does the work, knowing which call it serves.
    async fn call_with_context(
        &self,
        args: Value,
        context: ToolContext,
    ) -> Result<Value, ToolError> {
        drop(context);
        self.call(args).await
    }

    /// Does the work and may say that the result comes later; this is what the engine calls.
    ///
    /// Override it in a tool that sometimes answers at once and sometimes pauses. A tool that
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

    /// Goes on after it has asked a person, who said yes: with the state that its
    /// [`Ask`](crate::Ask) left and the answer, perhaps weeks later and in another process. It may
    /// ask again, any number of times.
    ///
    /// The arguments are in [`ToolContext::args`]. What is cut off here is in doubt as any other
    /// run; an idempotent tool is resumed again with the same state and answer.
    ///
    /// ```
    /// # use async_trait::async_trait;
    /// # use recount_tool::{Ask, ToolConfirmation, ToolContext, ToolError, ToolFunction, ToolOutcome};
    /// # use serde_json::{Value, json};
    /// struct TimeOff;
    ///
    /// #[async_trait]
    /// impl ToolFunction for TimeOff {
    ///     fn name(&self) -> &str { "time_off" }
    ///     fn description(&self) -> &str { "Asks for days off" }
    ///     fn parameters(&self) -> Option<Value> { None }
    ///     async fn call(&self, _args: Value) -> Result<Value, ToolError> { Err(ToolError::NotAvailable("it asks".into())) }
    ///
    ///     async fn invoke(&self, args: Value, _context: ToolContext) -> ToolOutcome {
    ///         Ask::new(format!("{} days off?", args["days"]), json!({"wanted": args["days"]})).into()
    ///     }
    ///
    ///     async fn resume(&self, _context: ToolContext, state: Value, answer: ToolConfirmation) -> ToolOutcome {
    ///         let days = answer.payload.map_or(state["wanted"].clone(), |it| it["approved_days"].clone());
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

    /// Whether it knows itself how a call goes on that it has [paused](crate::Pending), so that an
    /// engine asks it to [`follow`](Self::follow) the call.
    fn follows(&self) -> bool {
        false
    }

    /// Waits for the result of a call that it has paused, wherever that comes from: of a job at
    /// another service, whose number is in the state of the pause.
    ///
    /// An engine calls it once the pause is on record, and again after a restart, with the same
    /// `state`, which without one is what the model was told meanwhile, as it stands on record;
    /// what it returns is the call's result, unless somebody else was quicker to respond
    /// (`Engine::respond`); with none, it is left to them. The result is told in the shape of the
    /// agent's responses, and one that cannot be on record is a failure. No time limit holds. It is
    /// dropped, also in the middle, where the call has ended otherwise, and where the engine shuts
    /// down or is dropped.
    ///
    /// ```
    /// # use async_trait::async_trait;
    /// # use recount_tool::{Pending, Ticket, ToolContext, ToolError, ToolFunction, ToolOutcome};
    /// # use serde_json::{Value, json};
    /// # struct Print;
    /// # impl Print { async fn printed(&self, _job: &Value) -> Result<Value, ToolError> { Ok(json!({"pages": 3})) } }
    /// #[async_trait]
    /// impl ToolFunction for Print {
    /// #   fn name(&self) -> &str { "print" }
    /// #   fn description(&self) -> &str { "Prints" }
    /// #   fn parameters(&self) -> Option<Value> { None }
    /// #   async fn call(&self, _args: Value) -> Result<Value, ToolError> { Err(ToolError::NotAvailable("it pauses".into())) }
    ///     async fn invoke(&self, _args: Value, _context: ToolContext) -> ToolOutcome {
    ///         // hand the job over, then:
    ///         Pending::new().with_state(json!({"job": 17})).into()
    ///     }
    ///     fn follows(&self) -> bool { true }
    ///     async fn follow(&self, _ticket: &Ticket, state: Value) -> Option<Result<Value, ToolError>> {
    ///         Some(self.printed(state.get("job")?).await)
    ///     }
    /// }
    /// ```
    async fn follow(&self, _ticket: &Ticket, _state: Value) -> Option<Result<Value, ToolError>> {
        None
    }

    /// As [`follow`](Self::follow), with the result as the text that goes on record; this is what
    /// the engine calls.
    async fn follow_text(&self, ticket: &Ticket, state: Value) -> Option<Result<Json, ToolError>> {
        let followed = self.follow(ticket, state).await;
        followed.map(|result| result.map(|value| Json::of(&value)))
    }

    /// Calls off what it has begun, where that can be done: a call that it was following was taken
    /// back by a person, or by the model where its policy has `withdraw_on_cancel` (else the call
    /// goes on), or its session was closed. The `state` is as of [`follow`](Self::follow), which is
    /// dropped before. Of a call that ends while no engine follows it, it is not told.
    async fn call_off(&self, _ticket: &Ticket, _state: Value) {}

    /// Lets go of what it holds outside this process, such as a connection or a child process: an
    /// engine that has it shuts down, and nothing of that engine runs any more. Another engine may
    /// have it, too, so a later call finds what it needs again.
    async fn shut_down(&self) {}

    /// The datum by which what it runs is known again, for a tool that starts a program or calls a
    /// server: a person who approves a call approves it, too.
    ///
    /// It is part of the tool's contract. The engine asks for it when the tool is registered and
    /// again before an approved call starts, on a thread that may block; where it has changed, the
    /// call is asked about anew. It goes on record in clear text, so it holds digests in place of
    /// what may be secret.
    fn implementation(&self) -> Option<Value> {
        None
    }

    /// True if a run can see what a person gave with a yes. Where it is false, a policy that asks
    /// for a payload is refused when the tool is registered.
    fn takes_confirmation(&self) -> bool {
        true
    }

    /// Whether a person must agree before it runs.
    fn requires_confirmation(&self) -> bool {
        false
    }

    /// What that person is told.
    fn confirmation_message(&self) -> Option<&str> {
        None
    }

    /// Whether what it returns only says that it has begun, as of a
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
