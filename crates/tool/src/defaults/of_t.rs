//! The constructors of the ready-made tools on `T`.

use super::ready_made::declared;
use super::{end_session, escalate, get_context};
use crate::tools::t::T;
use crate::tools::toolset::Toolset;

impl T {
    /// Returns all ready-made tools.
    ///
    /// They are [`endSession`](T::end_session), [`getContext`](T::get_context) without state keys,
    /// and [`escalate`](T::escalate).
    ///
    /// | name | category | behavior | arguments (`*` required) | emits |
    /// |---|---|---|---|---|
    /// | `endSession` | `action` | `NON_BLOCKING` | `reason`* string, `confirmed`* boolean | [`EndSession`](crate::EndSession) |
    /// | `getContext` | `context` | `NON_BLOCKING` | `turns` integer | [`ContextGiven`](crate::ContextGiven) |
    /// | `escalate` | `action` | `NON_BLOCKING` | `reason`* string, `context` string | [`Escalated`](crate::Escalated) |
    ///
    /// Their results have the scheduling `WHEN_IDLE`: the model uses them when it has nothing else
    /// to say. An agent can send them in SAMMY's envelope with
    /// [`ResponseShape::Envelope`](recount_session::ResponseShape).
    ///
    /// ```
    /// use recount_tool::{T, ToolDispatcher};
    ///
    /// let mut tools = ToolDispatcher::new();
    /// tools.register(T::defaults())?;
    /// assert_eq!(tools.names().collect::<Vec<_>>(), ["endSession", "escalate", "getContext"]);
    /// let actions: Vec<_> = tools.by_category("action").map(|tool| tool.name()).collect();
    /// assert_eq!(actions, ["endSession", "escalate"]);
    /// # Ok::<(), recount_tool::RegistrationError>(())
    /// ```
    #[must_use]
    pub fn defaults() -> Toolset {
        T::end_session() | T::get_context([""; 0]) | T::escalate()
    }

    /// Returns `endSession`, with which the model ends the session in two steps.
    ///
    /// With `confirmed: false` the result has the `action` `awaiting_confirmation` and the session
    /// stays open: the model must ask the user. With `confirmed: true` the model first receives the
    /// result. Then the engine records `session_closed` with the reason, cancels running calls, and
    /// closes the subscriptions of the handle. A crash in between does not keep the session open.
    /// Only JSON booleans count: `"false"` is an invalid argument and ends nothing. If other calls
    /// wait for an approver, both results name their tools in `withdraws`, because closing the
    /// session withdraws these requests.
    ///
    /// ```json
    /// {"success":true,"message":"Confirmation required before ending session","reason":"bye","confirmed":false,"action":"awaiting_confirmation"}
    /// {"success":true,"message":"Session ending after confirmation","reason":"bye","confirmed":true,"withdraws":["pay"]}
    /// ```
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount_tool::{T, ToolDispatcher};
    /// use serde_json::json;
    ///
    /// let mut tools = ToolDispatcher::new();
    /// tools.register(T::end_session())?;
    /// let asked = tools
    ///     .call_function("endSession", json!({"reason": "bye", "confirmed": false}))
    ///     .await
    ///     .unwrap();
    /// assert_eq!(asked["action"], "awaiting_confirmation");
    /// assert!(
    ///     tools
    ///         .call_function("endSession", json!({"reason": "bye", "confirmed": "false"}))
    ///         .await
    ///         .is_err()
    /// );
    /// # Ok::<(), recount_tool::RegistrationError>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn end_session() -> Toolset {
        // Ending a session twice is the same as ending it once.
        T::idempotent(declared(end_session::Tool, "action"))
    }

    /// Returns `getContext`, with which the model reads the status of the conversation.
    ///
    /// The result has the phase, the calls that have not ended, the last turns, and the state
    /// values under `keys`. The number of turns is the model's choice, 6 by default and 20 at most;
    /// the turns are read from the journal. Other state keys are not shown, not even their names.
    ///
    /// ```json
    /// {"success":true,"state":{"plan":"monthly"},"phase":"negotiate","open_calls":[{"name":"pay","status":"awaiting_confirmation"}],
    ///  "turns":[{"speaker":"user","text":"What do I owe?"}]}
    /// ```
    ///
    /// ```
    /// use recount_tool::T;
    ///
    /// let tools = T::get_context(["plan", "user:name"]);
    /// assert_eq!(tools.tools()[0].name(), "getContext");
    /// ```
    #[must_use]
    pub fn get_context<K: Into<String>>(keys: impl IntoIterator<Item = K>) -> Toolset {
        let keys = keys.into_iter().map(Into::into).collect();
        T::idempotent(declared(get_context::Tool { keys }, "context"))
    }

    /// Returns `escalate`, with which the model calls for a person.
    ///
    /// The tool calls the program's [`Escalation`](crate::Escalation) service. Without that service
    /// the result says that no person is available. In both cases the tool emits
    /// [`Escalated`](crate::Escalated), so a program may use only an event listener.
    ///
    /// ```json
    /// {"success":true,"message":"Ada takes over","reason":"angry","context":"No additional context provided","status":"escalated",
    ///  "conversationId":"0193a6e0-0000-7000-8000-000000000001","timestamp":"2026-11-20T14:03:07.112Z"}
    /// ```
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use std::sync::Arc;
    /// use async_trait::async_trait;
    /// use recount_tool::{
    ///     Escalation, EscalationReply, EscalationRequest, T, ToolDispatcher, ToolError,
    /// };
    /// use serde_json::json;
    ///
    /// struct Desk;
    ///
    /// #[async_trait]
    /// impl Escalation for Desk {
    ///     async fn escalate(
    ///         &self,
    ///         request: &EscalationRequest,
    ///     ) -> Result<EscalationReply, ToolError> {
    ///         Ok(EscalationReply::accepted(format!("Ada looks into it: {}", request.reason)))
    ///     }
    /// }
    ///
    /// let desk: Arc<dyn Escalation> = Arc::new(Desk);
    /// let mut tools = ToolDispatcher::new().with_service(desk);
    /// tools.register(T::escalate())?;
    /// let called = tools.call_function("escalate", json!({"reason": "angry"})).await.unwrap();
    /// assert_eq!(
    ///     (called["status"].as_str(), called["message"].as_str()),
    ///     (Some("escalated"), Some("Ada looks into it: angry"))
    /// );
    /// # Ok::<(), recount_tool::RegistrationError>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn escalate() -> Toolset {
        declared(escalate::Tool, "action")
    }
}
