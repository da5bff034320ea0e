//! Short names for the approvals that a tool's calls need.

use std::time::Duration;

use recount_session::{Approvers, Condition, Edits, OnExpiry, ToolPolicy};
use serde_json::Value;

use super::t::T;
use super::toolset::Toolset;

impl T {
    /// Requires an approval of each call before it runs, and shows the hint to the approver.
    ///
    /// **Without a journal on disk and without a confirmation provider the tool runs unasked**;
    /// with `.strict()` such calls are denied. Building such an agent logs a warning, and
    /// `gate_waived` is recorded for each call. A gate with [`approvers`](Self::approvers),
    /// [`not_requester`](Self::not_requester) or a [`quorum`](Self::quorum) is never waived.
    #[must_use]
    pub fn confirm(tool: impl Into<Toolset>, hint: impl Into<String>) -> Toolset {
        Self::policy(tool, ToolPolicy::gate(hint))
    }

    /// Requires an approval like [`confirm`](Self::confirm); without an answer in time the call is
    /// denied.
    ///
    /// ```
    /// use recount_tool::T;
    /// use serde_json::json;
    /// use std::time::Duration;
    ///
    /// let pay = T::simple("pay", "Pays", |_args| async { Ok(json!({"paid": true})) });
    /// let pay = T::confirm_within(pay, "Pay?", Duration::from_secs(600));
    /// assert!(pay.tools()[0].policy().confirm);
    /// ```
    #[must_use]
    pub fn confirm_within(
        tool: impl Into<Toolset>,
        hint: impl Into<String>,
        expires_after: Duration,
    ) -> Toolset {
        let mut gate = ToolPolicy::gate(hint);
        gate.gate_terms.expires_after = Some(expires_after);
        Self::policy(tool, gate)
    }

    /// Sets the effect of an expiry for a tool that has a time, as of
    /// [`confirm_within`](Self::confirm_within). By default the call is denied.
    ///
    /// **[`OnExpiry::Allow`] fails open**: the call runs if every approver sleeps, and if no
    /// message reaches them. The record says that no person allowed it. Registration rejects it
    /// beside terms that only a person can meet: approvers, a quorum, a payload, edits approved
    /// anew.
    ///
    /// ```
    /// use recount_session::OnExpiry;
    /// use recount_tool::T;
    /// use serde_json::json;
    /// use std::time::Duration;
    ///
    /// let mail = T::simple("mail", "Mails", |_args| async { Ok(json!({"sent": true})) });
    /// let mail = T::confirm_within(mail, "Send it?", Duration::from_secs(600));
    /// let mail = T::confirm_on_expiry(mail, OnExpiry::Allow);
    /// assert!(mail.tools()[0].policy().gate_terms.let_unanswered_run());
    /// ```
    #[must_use]
    pub fn confirm_on_expiry(tool: impl Into<Toolset>, on_expiry: OnExpiry) -> Toolset {
        Self::with(tool, |policy| policy.gate_terms.on_expiry = Some(on_expiry))
    }

    /// Requires an approval like [`confirm`](Self::confirm), for calls whose arguments and state
    /// satisfy the condition.
    ///
    /// If a value is missing, sealed or no number, the condition is undecidable and the call needs
    /// an approval too.
    ///
    /// ```
    /// use recount_session::{Comparison, S};
    /// use recount_tool::T;
    /// use serde_json::json;
    ///
    /// let refund = T::simple("refund", "Refunds", |_args| async {
    ///     Ok(json!({"refunded": true}))
    /// });
    /// let large = S::compares(S::arg("amount"), Comparison::Greater, 1000);
    /// let refund = T::confirm_when(refund, "Refund so much?", large);
    /// assert!(refund.tools()[0].policy().gate_terms.when.is_some());
    /// ```
    #[must_use]
    pub fn confirm_when(
        tool: impl Into<Toolset>,
        hint: impl Into<String>,
        condition: Condition,
    ) -> Toolset {
        let mut gate = ToolPolicy::gate(hint);
        gate.gate_terms.when = Some(condition);
        Self::policy(tool, gate)
    }

    /// Requires a payload with an approval, which must fit this JSON Schema.
    ///
    /// An answer that does not fit is rejected, and the request stays open. The tool reads the
    /// payload from [`ToolContext::confirmation`](crate::ToolContext::confirmation). Registration
    /// rejects a tool that cannot read it, such as a closure without a context.
    ///
    /// ```
    /// use recount_tool::{T, ToolContext, TypedTool};
    /// use serde_json::{Value, json};
    ///
    /// let take = |_: Value, context: ToolContext| async move {
    ///     let given = context.confirmation().and_then(|it| it.payload.clone());
    ///     Ok(json!({"given": given}))
    /// };
    /// let leave = TypedTool::with_context("time_off", "Asks for days off", take);
    /// let days = json!({"required": ["days"], "properties": {"days": {"type": "integer"}}});
    /// let leave = T::confirm_payload(T::confirm(leave, "How many days?"), days);
    /// # let _ = leave;
    /// ```
    #[must_use]
    pub fn confirm_payload(tool: impl Into<Toolset>, schema: Value) -> Toolset {
        Self::with(tool, |policy| policy.gate_terms.payload = Some(schema))
    }

    /// Lets the approver change the arguments. Both versions are recorded, and the changed one must
    /// fit the tool's schema.
    ///
    /// ```
    /// use recount_session::Edits;
    /// use recount_tool::T;
    /// use serde_json::json;
    ///
    /// let pay = T::simple("pay", "Pays", |_args| async { Ok(json!({"paid": true})) });
    /// // A changed amount needs the approval of another person.
    /// let pay = T::confirm_edits(T::confirm(pay, "Pay?"), Edits::ApprovedAnew);
    /// # let _ = pay;
    /// ```
    #[must_use]
    pub fn confirm_edits(tool: impl Into<Toolset>, edits: Edits) -> Toolset {
        Self::with(tool, |policy| policy.gate_terms.edits = Some(edits))
    }

    /// Lets only these people answer the tool's confirmation requests.
    ///
    /// If it is applied more than once, an answer must be by a person of each value. Answers of
    /// programs never count, and neither does a name that no entry point verified.
    ///
    /// ```
    /// use recount_session::{Approvers, Person};
    /// use recount_tool::T;
    /// use serde_json::json;
    ///
    /// let pay = T::simple("pay", "Pays", |_args| async { Ok(json!({"paid": true})) });
    /// let people = Approvers::roles(["finance"]).or(Approvers::names([Person::os_user("ada")]));
    /// let pay = T::approvers(T::confirm(pay, "Pay?"), people);
    /// # let _ = pay;
    /// ```
    #[must_use]
    pub fn approvers(tool: impl Into<Toolset>, approvers: Approvers) -> Toolset {
        Self::with(tool, |policy| {
            policy.gate_terms.approvers.insert(approvers.clone());
        })
    }

    /// Bars the requester of a call from approving it.
    ///
    /// The requester is the party that made the call through the program, or else the one for whom
    /// the session's agent acts. If neither is known, no person can approve.
    ///
    /// ```
    /// use recount_tool::T;
    /// use serde_json::json;
    ///
    /// let pay = T::simple("pay", "Pays", |_args| async { Ok(json!({"paid": true})) });
    /// let pay = T::not_requester(T::confirm(pay, "Pay?"));
    /// # let _ = pay;
    /// ```
    #[must_use]
    pub fn not_requester(tool: impl Into<Toolset>) -> Toolset {
        Self::with(tool, |policy| policy.gate_terms.not_requester = true)
    }

    /// Requires approvals by this number of persons, at most
    /// [`QUORUM_MAX`](recount_session::QUORUM_MAX). The first no decides.
    ///
    /// A quorum of 1 is one person: the answer of a program does not count.
    ///
    /// ```
    /// use recount_tool::T;
    /// use serde_json::json;
    ///
    /// let pay = T::simple("pay", "Pays", |_args| async { Ok(json!({"paid": true})) });
    /// let pay = T::quorum(T::confirm(pay, "Pay?"), 2);
    /// # let _ = pay;
    /// ```
    #[must_use]
    pub fn quorum(tool: impl Into<Toolset>, persons: u32) -> Toolset {
        Self::with(tool, |policy| {
            policy.gate_terms.quorum = policy.gate_terms.quorum.max(Some(persons));
        })
    }

    /// Lets an approval of the tool's gate also allow later calls in the same session.
    ///
    /// The approver chooses a number of calls or a time, and may revoke the leave. It ends with
    /// another contract or policy of the tool. Without this policy, such an answer is refused. A
    /// gate that asks for a payload gives no leave, because later calls would have none.
    ///
    /// ```
    /// use recount_tool::T;
    /// use serde_json::json;
    ///
    /// let mail = T::simple("mail", "Sends", |_args| async { Ok(json!({"sent": true})) });
    /// let mail = T::may_allow_for_session(T::confirm(mail, "Send this?"));
    /// # let _ = mail;
    /// ```
    #[must_use]
    pub fn may_allow_for_session(tool: impl Into<Toolset>) -> Toolset {
        Self::with(tool, |policy| {
            policy.gate_terms.may_allow_for_session = true
        })
    }

    /// Limits the number of open confirmation requests about calls of the tool. A further call that
    /// would wait for approval is refused, and the model is told so.
    ///
    /// Every open request about the tool counts. A call in doubt and a question of the tool itself
    /// are always asked. The limit of a whole session is `Agent::max_open_requests`.
    ///
    /// ```
    /// use recount_tool::T;
    /// use serde_json::json;
    ///
    /// let pay = T::simple("pay", "Pays", |_args| async { Ok(json!({"paid": true})) });
    /// let pay = T::max_open_requests(T::confirm(pay, "Pay?"), 3);
    /// assert_eq!(pay.tools()[0].policy().gate_terms.max_open_requests, Some(3));
    /// ```
    #[must_use]
    pub fn max_open_requests(tool: impl Into<Toolset>, requests: u32) -> Toolset {
        Self::with(tool, |policy| {
            policy.gate_terms.max_open_requests = Some(requests);
        })
    }
}
