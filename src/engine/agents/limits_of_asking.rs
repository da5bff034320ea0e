//! The limits of asking in an agent's sessions: open requests, and approvals per person and minute.

use super::agent::Agent;
use crate::session::PolicySet;

/// The limits of asking in a session. `None`: no limit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LimitsOfAsking {
    /// The maximum number of open confirmation requests.
    pub(super) open_requests: Option<u32>,
    /// The maximum number of approvals by one person in a minute.
    pub(super) answers_per_minute: Option<u32>,
}

impl Agent {
    /// Sets the maximum number of open confirmation requests in a session; unlimited by default.
    ///
    /// A further call that would wait for approval is refused, and the model is told so. Questions
    /// about calls in doubt and questions of tools are always asked, and count. The limit of one
    /// tool is [`T::max_open_requests`](crate::tool::T::max_open_requests).
    ///
    /// ```
    /// use recount::prelude::*;
    ///
    /// let agent = Agent::new()
    ///     .model("gemini-3.8-live")
    ///     .max_open_requests(20)
    ///     .answers_per_minute(6);
    /// # let _ = agent;
    /// ```
    pub fn max_open_requests(mut self, requests: u32) -> Agent {
        self.call_limits.asking.open_requests = Some(requests);
        self
    }

    /// Sets the maximum number of approvals that one person may give in a session in any sixty
    /// seconds; unlimited by default.
    ///
    /// A further approval is refused on record (`too_many_answers`), and its request stays open. A
    /// denial is never refused by it. A program that answers, such as a confirmation provider, is
    /// limited like a person. Names that were not verified share one limit.
    pub fn answers_per_minute(mut self, answers: u32) -> Agent {
        self.call_limits.asking.answers_per_minute = Some(answers);
        self
    }
}

/// Returns the mistakes in the limits. With a limit of zero no call could be asked about, or none
/// approved.
pub(super) fn mistakes(policies: &PolicySet) -> Vec<String> {
    let limits = [
        ("max_open_requests", policies.max_open_requests),
        ("answers_per_minute", policies.answers_per_minute),
    ];
    let zero = limits.into_iter().filter(|(_, max)| *max == Some(0));
    zero.map(|(name, _)| format!("{name}: expected at least 1, found 0"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_of_zero_is_a_mistake() {
        let policies = PolicySet {
            max_open_requests: Some(0),
            answers_per_minute: Some(0),
            ..PolicySet::default()
        };
        let expected = [
            "max_open_requests: expected at least 1, found 0",
            "answers_per_minute: expected at least 1, found 0",
        ];
        assert_eq!(mistakes(&policies), expected);
        assert!(mistakes(&PolicySet::default()).is_empty());
    }
}
