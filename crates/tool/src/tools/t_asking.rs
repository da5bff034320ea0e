//! Short names for the limits of asking a person.

use super::t::T;
use super::toolset::Toolset;

impl T {
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
