//! The policy under which an approval may allow later calls.

use super::t::T;
use super::toolset::Toolset;

impl T {
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
}
