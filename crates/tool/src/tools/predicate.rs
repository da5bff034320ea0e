//! A gate that the program decides, call by call: asked as a question, and what it says goes on
//! record.

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
    /// As [`confirm`](Self::confirm), of the calls for which the closure says so, by their
    /// arguments and the state.
    ///
    /// It is asked once about each call that its policies let through, before a person is and
    /// before anything runs; what it says is on record, so a replay needs no closure. It only
    /// answers a question: what it writes to the state is dropped, and one that was cut off by a
    /// crash is asked again. Where it panics, or takes longer than 30 seconds, the gate holds. What
    /// data can say, [`confirm_when`](Self::confirm_when) says at once; of both together, either
    /// closes the gate.
    ///
    /// ```
    /// use recount_tool::{State, T};
    /// use serde_json::{Value, json};
    ///
    /// let refund = T::simple("refund", "Refunds", |_args| async { Ok(json!({"refunded": true})) });
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

/// What the program says of the gate of a call, or why it said nothing.
#[doc(hidden)]
pub async fn verdict(tool: &PolicyTool, args: Value, state: State) -> Result<bool, &'static str> {
    if tool.predicates.is_empty() {
        return Err("the tool has no predicate");
    }
    let predicates = tool.predicates.clone();
    // The calls stand inside a block, because a predicate may panic before it returns its future.
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

/// How long the program may take to say whether a gate holds.
const VERDICT_LIMIT: Duration = Duration::from_secs(30);
