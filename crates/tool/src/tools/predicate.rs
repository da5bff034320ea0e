//! A gate decided by a closure of the program for each call. The decision is recorded.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;

use super::policy_tool::{PolicyTool, Predicate};
use super::t::T;
use super::toolset::Toolset;
use crate::run::state::State;
use recount_session::ToolPolicy;

impl T {
    /// Requires an approval for the calls for which the closure returns true, by arguments and
    /// state.
    ///
    /// The closure runs once for each call that passes its other policies, before an approver is
    /// asked and before the tool runs. Its answer is recorded, so a replay needs no closure. Its
    /// writes to the state are dropped, and it runs again if a crash cut it off. If it panics or
    /// takes longer than 30 seconds, the call needs an approval. A condition that data can express
    /// needs only [`confirm_when`](Self::confirm_when); with both, either requires the approval.
    ///
    /// ```
    /// use recount_tool::{State, T};
    /// use serde_json::{Value, json};
    ///
    /// let refund = T::simple("refund", "Refunds", |_args| async {
    ///     Ok(json!({"refunded": true}))
    /// });
    /// let refund = T::confirm_when_fn(refund, "Refund so much?", |args: Value, state: State| async move {
    ///     let limit = state.get::<i64>("refund_limit").unwrap_or(100);
    ///     args["amount"].as_i64().is_none_or(|amount| amount > limit)
    /// });
    /// assert!(refund.tools()[0].policy().gate_terms.asks_program);
    /// ```
    #[must_use]
    pub fn confirm_when_fn<F, Fut>(
        tool: impl Into<Toolset>,
        hint: impl Into<String>,
        predicate: F,
    ) -> Toolset
    where
        F: Fn(Value, State) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = bool> + Send + 'static,
    {
        let predicate: Predicate = Arc::new(move |args, state| predicate(args, state).boxed());
        let mut gate = ToolPolicy::gate(hint);
        gate.gate_terms.asks_program = true;
        tool.into().map(|mut tool| {
            tool.predicates.push(predicate.clone());
            tool.with_policy(gate.clone())
        })
    }
}

/// Runs the tool's predicates for a call; the error says why there is no answer.
#[doc(hidden)]
pub async fn verdict(tool: &PolicyTool, args: Value, state: State) -> Result<bool, &'static str> {
    if tool.predicates.is_empty() {
        return Err("the tool has no predicate");
    }
    let predicates = tool.predicates.clone();
    // The calls are inside an async block, because a predicate may panic before it returns its
    // future.
    let asking = async move {
        for predicate in predicates {
            if predicate(args.clone(), state.clone()).await {
                return true;
            }
        }
        false
    };
    let asking = AssertUnwindSafe(asking).catch_unwind();
    match tokio::time::timeout(VERDICT_LIMIT, asking).await {
        Ok(Ok(gated)) => Ok(gated),
        Ok(Err(_)) => Err("it panicked"),
        Err(_) => Err("it took too long"),
    }
}

/// The maximum time for the predicates of one call.
const VERDICT_LIMIT: Duration = Duration::from_secs(30);
