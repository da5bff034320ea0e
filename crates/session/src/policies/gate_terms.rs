//! The terms of a gate other than its hint.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use serde_json::{Value, json};

use super::approvers::Approvers;
use super::condition::Condition;
use super::on_expiry::OnExpiry;
use super::tool_policy::{Edits, joined, less};

/// The terms of a gate other than its hint: the condition, and what an answer may contain.
///
/// ```
/// use std::time::Duration;
/// use recount_session::policy::{GateTerms, ToolPolicy};
///
/// let expires_after = Some(Duration::from_secs(3_600));
/// let an_hour = GateTerms { expires_after, ..GateTerms::default() };
/// let policy = ToolPolicy { gate_terms: an_hour.into(), ..ToolPolicy::gate("Pay?") };
/// assert_eq!(policy.gate_terms.expires_after, Some(Duration::from_secs(3_600)));
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct GateTerms {
    /// The time after which a request without an answer expires. `None`: never.
    pub expires_after: Option<Duration>,
    /// The effect of an expiry. `None`: the call counts as denied, or what the agent chooses for
    /// gates without a time of their own.
    pub on_expiry: Option<OnExpiry>,
    /// The condition on arguments and state under which the gate applies. `None`: always. A
    /// condition that cannot be evaluated counts as true; see [`Condition::holds_or_unknown`].
    pub when: Option<Condition>,
    /// True if the program decides about each call that `when` does not gate already. The tool
    /// holds that code, and its verdict is recorded.
    pub asks_program: bool,
    /// The JSON Schema of the payload of an approval. `None`: an answer with a payload is refused.
    pub payload: Option<Value>,
    /// The right of an approver to change the arguments.
    pub edits: Option<Edits>,
    /// True if the reason of a denial is recorded but not sent to the model.
    pub keeps_reason: bool,
    /// True if an approval may also allow later calls of the tool in the session. Such an approval
    /// gives a standing leave.
    pub may_allow_for_session: bool,
    /// The people who may answer: an answer needs a match in each entry. Without entries, every
    /// answer counts.
    pub approvers: BTreeSet<Approvers>,
    /// True if the requester of the call may not approve it.
    pub not_requester: bool,
    /// The number of persons who must approve, from 1 to [`QUORUM_MAX`](crate::QUORUM_MAX). `None`:
    /// one answer, also of a program.
    pub quorum: Option<u32>,
    /// The maximum number of open confirmation requests about calls of the tool. A further call
    /// that would wait for approval is refused, with a response. `None`: no limit.
    pub max_open_requests: Option<u32>,
}

impl GateTerms {
    const NONE: Self = Self {
        expires_after: None,
        on_expiry: None,
        when: None,
        asks_program: false,
        payload: None,
        edits: None,
        keeps_reason: false,
        may_allow_for_session: false,
        approvers: BTreeSet::new(),
        not_requester: false,
        quorum: None,
        max_open_requests: None,
    };

    /// True if some answers that would count without these terms do not count.
    #[must_use]
    pub fn restrict_answers(&self) -> bool {
        !self.approvers.is_empty() || self.not_requester || self.quorum.is_some()
    }

    /// True if a call may run although its request expired without an answer.
    ///
    /// A gate whose answers have terms never lets it: no expiry is one of its approvers, gives its
    /// payload, or approves changed arguments.
    #[must_use]
    pub fn let_unanswered_run(&self) -> bool {
        let allows = self.on_expiry == Some(OnExpiry::Allow) && self.expires_after.is_some();
        allows && self.needs_person().is_none()
    }

    /// The term that only a person can meet, if there is one.
    #[must_use]
    pub fn needs_person(&self) -> Option<&'static str> {
        let terms = [
            (!self.approvers.is_empty(), "approvers"),
            (self.not_requester, "not_requester"),
            (self.quorum.is_some(), "quorum"),
            (self.payload.is_some(), "confirm_payload"),
            (self.edits == Some(Edits::ApprovedAnew), "confirm_edits"),
        ];
        let found = terms.into_iter().find(|(is_set, _)| *is_set);
        found.map(|(_, term)| term)
    }

    /// Merges two sets of terms, each with a flag that is true if its policy is a gate. The fields
    /// `when` and `asks_program` of a policy without a gate are ignored.
    pub(super) fn merged(mut self, gated: bool, mut other: Self, other_gated: bool) -> Self {
        let mut always = false;
        for (terms, gated) in [(&mut self, gated), (&mut other, other_gated)] {
            terms.when = terms.when.take().filter(|_| gated);
            terms.asks_program &= gated;
            always |= gated && terms.when.is_none() && !terms.asks_program;
        }
        let either = |one, two| Condition::Or(vec![one, two]);
        let all = |one, two| json!({"allOf": [one, two]});
        let mut approvers = self.approvers;
        approvers.extend(other.approvers);
        Self {
            expires_after: less(self.expires_after, other.expires_after),
            on_expiry: if gated && other_gated {
                OnExpiry::of_both(self.on_expiry, other.on_expiry)
            } else {
                less(self.on_expiry, other.on_expiry)
            },
            // A gate that always applies needs no condition and no verdict.
            when: joined(self.when, other.when, either).filter(|_| !always),
            asks_program: (self.asks_program || other.asks_program) && !always,
            payload: joined(self.payload, other.payload, all),
            // If both policies are gates, both must allow edits.
            edits: match (self.edits, other.edits) {
                (Some(one), Some(two)) => Some(one.max(two)),
                (one, two) => one.or(two).filter(|_| !(gated && other_gated)),
            },
            keeps_reason: self.keeps_reason || other.keeps_reason,
            // If both policies are gates, both must permit a standing leave.
            may_allow_for_session: if gated && other_gated {
                self.may_allow_for_session && other.may_allow_for_session
            } else {
                self.may_allow_for_session || other.may_allow_for_session
            },
            // A merged gate admits only answers that both gates admit.
            approvers,
            not_requester: self.not_requester || other.not_requester,
            quorum: self.quorum.max(other.quorum),
            max_open_requests: less(self.max_open_requests, other.max_open_requests),
        }
    }
}

/// Optional [`GateTerms`] in the size of a pointer. An absent value reads as the default and equals
/// it.
#[derive(Clone, Debug, Default, Eq)]
pub struct OptionalGateTerms(Option<Box<GateTerms>>);

impl OptionalGateTerms {
    pub(super) const NONE: Self = Self(None);

    pub(super) fn into_terms(self) -> GateTerms {
        self.0.map_or(GateTerms::NONE, |it| *it)
    }
}

impl From<GateTerms> for OptionalGateTerms {
    fn from(terms: GateTerms) -> Self {
        Self((terms != GateTerms::NONE).then(|| Box::new(terms)))
    }
}

impl Deref for OptionalGateTerms {
    type Target = GateTerms;

    fn deref(&self) -> &GateTerms {
        static NONE: GateTerms = GateTerms::NONE;
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl DerefMut for OptionalGateTerms {
    fn deref_mut(&mut self) -> &mut GateTerms {
        self.0.get_or_insert_default()
    }
}

impl PartialEq for OptionalGateTerms {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

#[cfg(test)]
#[path = "gate_terms_tests.rs"]
mod tests;
