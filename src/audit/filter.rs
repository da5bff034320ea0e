//! The selection of calls for an audit.

use recount_journal::Head;

use super::audited_call::AuditedCall;
use super::verdict::Verdict;
use crate::ledger::Erasure;
use crate::session::{Outcome, Timestamp};

/// A selection of calls: all of them, or those that meet each given condition.
///
/// Any one of several actors, tools, verdicts or outcomes suffices. Of several labels, all are
/// required.
///
/// ```
/// use recount::audit::{Filter, LabelFilter, Verdict};
///
/// let denied_at_acme = Filter {
///     verdicts: vec![Verdict::Denied, Verdict::Expired],
///     labels: vec![LabelFilter::parse("tenant=acme")],
///     ..Filter::default()
/// };
/// assert_ne!(denied_at_acme, Filter::default());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Selects calls with a decision or event at this time or later.
    pub from: Option<Timestamp>,
    /// Selects calls with a decision or event before this time. With `from`, the decision or event
    /// is between the two.
    pub until: Option<Timestamp>,
    /// Selects calls that an actor of this name approved, answered, tried to answer, ran as a
    /// client, cancelled, supplied, reconciled, or made. Also calls that a standing leave of the
    /// actor allowed, or a pause of the actor held.
    pub actors: Vec<String>,
    /// Selects calls of this tool.
    pub tools: Vec<String>,
    /// Selects calls of sessions with this label.
    pub labels: Vec<LabelFilter>,
    /// Selects calls with this verdict, or with a confirmation request that ended with it.
    pub verdicts: Vec<Verdict>,
    /// Selects calls with this outcome.
    pub outcomes: Vec<Outcome>,
    /// Selects calls with at least one start that no person approved. Calls that never ran are left
    /// out.
    pub unconfirmed: bool,
}

/// A label that a session must have, with any value or a given one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelFilter {
    /// The label's name.
    pub name: String,
    /// The label's value. `None` allows any.
    pub value: Option<String>,
}

impl LabelFilter {
    /// Parses `NAME=VALUE`, or `NAME` for any value.
    ///
    /// ```
    /// use recount::audit::LabelFilter;
    /// assert_eq!(LabelFilter::parse("tenant").value, None);
    /// assert_eq!(LabelFilter::parse("tenant=a=b").value.as_deref(), Some("a=b"));
    /// ```
    pub fn parse(text: &str) -> LabelFilter {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        let name = name.to_owned();
        LabelFilter { name, value }
    }
}

impl Filter {
    /// True if the call is selected.
    pub fn takes(&self, call: &AuditedCall) -> bool {
        let fits = |wanted: bool, any: bool| !wanted || any;
        let label = |it: &LabelFilter| {
            let value = call.labels.get(&it.name);
            value.is_some_and(|found| it.value.as_ref().is_none_or(|wanted| wanted == found))
        };
        let said = |it: &Verdict| {
            let mut answers = call.questions.iter();
            *it == call.verdict || answers.any(|at| Verdict::of_question(at) == Some(*it))
        };
        let outcome = call.ended.as_ref().map(|it| it.outcome);
        call.moments().any(|at| self.covers(at))
            && fits(
                !self.actors.is_empty(),
                call.people().any(|it| self.actors.contains(&it.name)),
            )
            && fits(!self.tools.is_empty(), self.tools.contains(&call.tool))
            && self.labels.iter().all(label)
            && fits(!self.verdicts.is_empty(), self.verdicts.iter().any(said))
            && fits(self.unconfirmed, call.ran_without_confirmation)
            && fits(
                !self.outcomes.is_empty(),
                outcome.is_some_and(|it| self.outcomes.contains(&it)),
            )
    }

    /// True if the time is in the selected range.
    pub fn covers(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at < until)
    }

    /// True if a session with this head may have selected calls. Its erasure is recorded later, in
    /// another stream.
    pub(super) fn reaches(&self, head: &Head, erasure: Option<&Erasure>) -> bool {
        let erased = |it: &Erasure| {
            let mut times = [Some(it.requested_at_us), it.erased_at_us].into_iter();
            times.any(|at| at.is_some_and(|at| self.covers(at)))
        };
        self.from.is_none_or(|from| from.0 <= head.at_us) || erasure.is_some_and(erased)
    }
}
