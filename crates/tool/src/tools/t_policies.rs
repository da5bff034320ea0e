//! Short names for the policies of a tool's calls.

use std::time::Duration;

use recount_session::catalog::Behavior;
use recount_session::policy::Progress;
use recount_session::{
    Background, Condition, FunctionResponseScheduling, InDoubt, Limits, Repeats, Retry,
};
use serde_json::Value;

use super::policy_tool::PolicyTool;
use super::t::T;
use super::toolset::Toolset;
use recount_session::ToolPolicy;

impl T {
    /// Hides the reason of a denial from the model; the record keeps it.
    #[must_use]
    pub fn keep_reason(tool: impl Into<Toolset>) -> Toolset {
        Self::with(tool, |policy| policy.gate_terms.keeps_reason = true)
    }

    /// Sets the acknowledgement of a call that waits for an approver. Replaces
    /// `{"status":"awaiting_confirmation","tool":"pay"}`.
    ///
    /// ```
    /// use recount_tool::T;
    /// use serde_json::json;
    ///
    /// let pay = T::simple("pay", "Pays", |_args| async { Ok(json!({"paid": true})) });
    /// let pay = T::acknowledge(
    ///     T::confirm(pay, "Pay?"),
    ///     json!({"status": "A colleague has to agree; go on meanwhile."}),
    /// );
    /// # let _ = pay;
    /// ```
    #[must_use]
    pub fn acknowledge(tool: impl Into<Toolset>, words: Value) -> Toolset {
        Self::with(tool, |policy| policy.acknowledgement = Some(words))
    }

    /// Sets the time for which a waiting call is not acknowledged. It begins with the question, or
    /// with the pause of the tool.
    ///
    /// A call that is decided before that time gets only its final response. Without it, the time
    /// of the agent counts, and without that a wait is acknowledged at once.
    ///
    /// ```
    /// use recount_tool::T;
    /// use serde_json::json;
    /// use std::time::Duration;
    ///
    /// let pay = T::simple("pay", "Pays", |_args| async { Ok(json!({"paid": true})) });
    /// let pay = T::acknowledge_after(T::confirm(pay, "Pay?"), Duration::from_secs(10));
    /// assert_eq!(pay.tools()[0].policy().acknowledge_after, Some(Duration::from_secs(10)));
    /// ```
    #[must_use]
    pub fn acknowledge_after(tool: impl Into<Toolset>, time: Duration) -> Toolset {
        Self::with(tool, |policy| policy.acknowledge_after = Some(time))
    }

    /// Makes a cancellation by the model withdraw an open confirmation request, instead of only
    /// marking it. A cancellation of the agent that called the tool does the same.
    #[must_use]
    pub fn withdraw_on_cancel(tool: impl Into<Toolset>) -> Toolset {
        Self::with(tool, |policy| policy.withdraw_on_cancel = true)
    }

    /// Treats a supplied result whose `status` is `pending` or `in_progress` as an interim
    /// response. The call stays paused, as ADK clients expect. Any other result ends the call.
    ///
    /// ```
    /// use recount_tool::T;
    /// use serde_json::{Value, json};
    ///
    /// let ship = T::simple("ship", "Ships an order", |_args| async { Ok(Value::Null) });
    /// let ship = T::interim_status(T::long_running(ship));
    /// # let _ = ship;
    /// ```
    #[must_use]
    pub fn interim_status(tool: impl Into<Toolset>) -> Toolset {
        Self::with(tool, |policy| policy.interim_status = true)
    }

    /// Makes a run's progress restart its time limit and, with [`Progress::Told`], sends it to the
    /// model.
    ///
    /// MCP servers report progress by notifications, other tools by
    /// [`ToolContext::progress`](crate::ToolContext::progress); each result of a streaming tool
    /// counts, too. It applies in an engine; a dispatcher without an engine does not restart the
    /// limit.
    ///
    /// ```
    /// use recount_session::Progress;
    /// use recount_tool::T;
    /// use serde_json::{Value, json};
    ///
    /// let import = T::simple("import", "Imports a file", |_args| async { Ok(Value::Null) });
    /// let import = T::progress(import, Progress::ExtendsTimeout);
    /// assert_eq!(import.tools()[0].policy().progress, Some(Progress::ExtendsTimeout));
    /// ```
    #[must_use]
    pub fn progress(tool: impl Into<Toolset>, effect: Progress) -> Toolset {
        Self::with(tool, |policy| policy.progress = Some(effect))
    }

    /// Limits the time of a run, without the time of waiting for an approver.
    #[must_use]
    pub fn timeout(tool: impl Into<Toolset>, limit: Duration) -> Toolset {
        Self::with(tool, |policy| policy.timeout = Some(limit))
    }

    /// Reuses the result of an earlier successful call with equal arguments in the same session.
    ///
    /// ```
    /// use recount_tool::T;
    /// use serde_json::json;
    ///
    /// let weather = T::cached(T::simple(
    ///     "get_weather",
    ///     "Tells the weather",
    ///     |_args| async { Ok(json!({"c": 22})) },
    /// ));
    /// assert!(weather.tools()[0].policy().cache);
    /// ```
    #[must_use]
    pub fn cached(tool: impl Into<Toolset>) -> Toolset {
        Self::with(tool, |policy| policy.cache = true)
    }

    /// Reuses results like [`cached`](Self::cached), up to this age in recorded time.
    #[must_use]
    pub fn cached_for(tool: impl Into<Toolset>, max_age: Duration) -> Toolset {
        Self::with(tool, |policy| {
            policy.cache = true;
            policy.cache_max_age = Some(max_age);
        })
    }

    /// Makes the model not wait for the result. The model uses the result when it has finished
    /// speaking.
    ///
    /// ```
    /// use recount_session::FunctionResponseScheduling;
    /// use recount_tool::T;
    /// use serde_json::json;
    ///
    /// let search = T::simple("search_kb", "Searches", |_args| async { Ok(json!([])) });
    /// let log = T::simple("log_event", "Logs", |_args| async { Ok(json!({})) });
    /// let tools =
    ///     T::background(search) | T::background_with(log, FunctionResponseScheduling::Silent);
    /// ```
    #[must_use]
    pub fn background(tool: impl Into<Toolset>) -> Toolset {
        Self::background_with(tool, FunctionResponseScheduling::default())
    }

    /// Runs calls like [`background`](Self::background), with another scheduling of the result.
    #[must_use]
    pub fn background_with(
        tool: impl Into<Toolset>,
        scheduling: FunctionResponseScheduling,
    ) -> Toolset {
        Self::with(tool, |policy| {
            policy.background = Some(Background { scheduling });
        })
    }

    /// Answers a repeated call with equal arguments while the first one is open, without running
    /// it.
    ///
    /// The answer is `{"status":"pending","tool":"order","call":"fc-1","ticket":"52ab…"}`, with the
    /// first call's id and its name for `Engine::receive_client_message` and
    /// `recount respond-call`. The result comes with the first call.
    ///
    /// ```
    /// use recount_tool::T;
    /// use serde_json::json;
    ///
    /// let order = T::simple("order", "Orders", |_args| async { Ok(json!(null)) });
    /// let order = T::pending_ticket(T::long_running(order));
    /// # let _ = order;
    /// ```
    #[must_use]
    pub fn pending_ticket(tool: impl Into<Toolset>) -> Toolset {
        Self::with(tool, |policy| policy.repeats = Repeats::PendingTicket)
    }

    /// Declares the tool idempotent: a call in doubt is settled by another run with the same
    /// idempotency key.
    #[must_use]
    pub fn idempotent(tool: impl Into<Toolset>) -> Toolset {
        Self::in_doubt(tool, InDoubt::Retry)
    }

    /// Declares the rule for a call in doubt, cut off between its start and its result.
    ///
    /// [`InDoubt::Retry`] declares the tool idempotent: it may run again with the same idempotency
    /// key.
    ///
    /// ```
    /// use recount_session::policy::InDoubt;
    /// use recount_tool::T;
    /// use serde_json::json;
    ///
    /// let read = T::simple("read", "Reads", |_args| async { Ok(json!({"balance": 7})) });
    /// let pay = T::simple("pay", "Pays", |_args| async { Ok(json!({"paid": true})) });
    /// let tools =
    ///     T::in_doubt(read, InDoubt::Retry) | T::in_doubt(T::confirm(pay, "Pay?"), InDoubt::Ask);
    /// ```
    #[must_use]
    pub fn in_doubt(tool: impl Into<Toolset>, rule: InDoubt) -> Toolset {
        tool.into().map(|tool| tool.with_in_doubt(rule))
    }

    /// Retries a failed run, up to this number of runs; the backoff doubles each time.
    ///
    /// Only for an idempotent tool; for any other it is an error at registration. The backoff is
    /// recorded in whole milliseconds.
    ///
    /// ```
    /// use recount_tool::{T, ToolDispatcher};
    /// use serde_json::json;
    /// use std::time::Duration;
    ///
    /// let read = || T::simple("read", "Reads", |_args| async { Ok(json!({"balance": 7})) });
    /// let thrice = |tool| T::retry(tool, 3, Duration::from_millis(200));
    /// assert!(ToolDispatcher::new().register(thrice(read())).is_err());
    /// ToolDispatcher::new().register(T::idempotent(thrice(read())))?;
    /// # Ok::<(), recount_tool::RegistrationError>(())
    /// ```
    #[must_use]
    pub fn retry(tool: impl Into<Toolset>, attempts: u32, backoff: Duration) -> Toolset {
        let retry = Retry {
            attempts_max: attempts,
            backoff_ms: u64::try_from(backoff.as_millis()).unwrap_or(u64::MAX),
        };
        Self::with(tool, |policy| policy.retry = Some(retry))
    }

    /// Limits the number of calls in a session.
    #[must_use]
    pub fn limit_per_session(tool: impl Into<Toolset>, calls: u32) -> Toolset {
        Self::with(tool, |policy| {
            policy.limits = Limits {
                per_session: Some(calls),
                per_minute: None,
            };
        })
    }

    /// Limits the number of calls in any sixty seconds of recorded time.
    #[must_use]
    pub fn limit_per_minute(tool: impl Into<Toolset>, calls: u32) -> Toolset {
        Self::with(tool, |policy| {
            policy.limits = Limits {
                per_session: None,
                per_minute: Some(calls),
            };
        })
    }

    /// Restricts the tool to these phases of the conversation.
    ///
    /// ```
    /// use recount_tool::T;
    /// use serde_json::json;
    ///
    /// let plan = T::simple("plan_payment", "Plans a payment", |_args| async { Ok(json!({})) });
    /// let plan = T::in_phases(plan, ["negotiate", "arrange_payment"]);
    /// # let _ = plan;
    /// ```
    #[must_use]
    pub fn in_phases<P: Into<String>>(
        tool: impl Into<Toolset>,
        phases: impl IntoIterator<Item = P>,
    ) -> Toolset {
        let phases = phases.into_iter().map(Into::into).collect();
        Self::with(tool, |policy| policy.phases = Some(phases))
    }

    /// Restricts the tool to times when the condition holds for the session's state.
    ///
    /// ```
    /// use recount_session::S;
    /// use recount_tool::T;
    /// use serde_json::json;
    ///
    /// let balance = T::simple("balance", "Tells the balance", |_args| async {
    ///     Ok(json!({"balance": 7}))
    /// });
    /// let balance = T::when(balance, S::is_true("identity_verified"));
    /// # let _ = balance;
    /// ```
    #[must_use]
    pub fn when(tool: impl Into<Toolset>, condition: Condition) -> Toolset {
        Self::with(tool, |policy| policy.when = Some(condition))
    }

    /// Declares the argument at a JSON Pointer secret: the journal stores it sealed, and the tool
    /// receives it in clear.
    ///
    /// It is sealed under the session's key before the call is recorded, even in an unsealed
    /// session, so the engine needs a key store. An approver sees that a value exists, and the
    /// approval binds the sealed bytes. Within a session, the same secret at the same place has the
    /// same sealed bytes. If a part of the path is no object, that part is sealed as a whole.
    ///
    /// ```
    /// use recount_tool::T;
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

    /// Adds a category, such as `action` or `context`; the model does not see it.
    #[must_use]
    pub fn category(tool: impl Into<Toolset>, category: impl Into<String>) -> Toolset {
        let category = category.into();
        tool.into().map(|tool| tool.with_category(category.clone()))
    }

    /// Declares whether the model waits for the result, if the platform supports that.
    ///
    /// ```
    /// use recount_session::catalog::Behavior;
    /// use recount_tool::T;
    /// use serde_json::json;
    ///
    /// let tour = T::simple("tour", "Shows around", |_args| async { Ok(json!({})) });
    /// let tour = T::behavior(tour, Behavior::Blocking);
    /// assert_eq!(tour.tools()[0].declaration().behavior, Some(Behavior::Blocking));
    /// ```
    #[must_use]
    pub fn behavior(tool: impl Into<Toolset>, behavior: Behavior) -> Toolset {
        tool.into().map(|tool| tool.with_behavior(behavior))
    }

    /// Adds any policy to the existing one.
    #[must_use]
    pub fn policy(tool: impl Into<Toolset>, policy: ToolPolicy) -> Toolset {
        tool.into()
            .map(|tool: PolicyTool| tool.with_policy(policy.clone()))
    }

    pub(super) fn with(tool: impl Into<Toolset>, set: impl FnOnce(&mut ToolPolicy)) -> Toolset {
        let mut policy = ToolPolicy::default();
        set(&mut policy);
        Self::policy(tool, policy)
    }
}
