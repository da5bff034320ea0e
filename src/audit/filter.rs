//! Which calls an auditor asks about.

use recount_journal::Head;

use super::audited_call::AuditedCall;
use super::verdict::Verdict;
use crate::ledger::Erasure;
use crate::session::{Outcome, Timestamp};

/// Which calls are wanted: all of them, or those that meet every condition given.
///
/// Of several actors, tools, verdicts or outcomes one has to fit; of several labels, all.
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
    /// Something was decided about the call, or happened to it, at this time or later.
    pub from: Option<Timestamp>,
    /// Something was decided about the call, or happened to it, before this time; with `from`,
    /// between the two.
    pub until: Option<Timestamp>,
    /// Somebody of this name answered, tried to, cancelled, supplied, reconciled, or made the call.
    pub actors: Vec<String>,
    /// The call is to this tool.
    pub tools: Vec<String>,
    /// Its session has this label.
    pub labels: Vec<LabelFilter>,
    /// This is its verdict, or what a person said to a question about it.
    pub verdicts: Vec<Verdict>,
    /// It ended like this.
    pub outcomes: Vec<Outcome>,
    /// It ran, and at least one start of it had no person's yes; what was allowed and never ran is
    /// left out.
    pub unconfirmed: bool,
}

/// A label that a session must have, with any value or with one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelFilter {
    /// Its name.
    pub name: String,
    /// Its value; any, where none is given.
    pub value: Option<String>,
}

impl LabelFilter {
    /// `NAME=VALUE`, or `NAME` for any value.
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
    /// Whether the call is wanted.
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

    /// Whether a time is within those that are asked about.
    pub fn covers(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at < until)
    }

    /// Whether a session that ends like this can have anything that is asked about. Its erasure is
    /// recorded elsewhere, and later.
    pub(super) fn reaches(&self, head: &Head, erasure: Option<&Erasure>) -> bool {
        let erased = |it: &Erasure| {
            let mut times = [Some(it.requested_at_us), it.erased_at_us].into_iter();
            times.any(|at| at.is_some_and(|at| self.covers(at)))
        };
        self.from.is_none_or(|from| from.0 <= head.at_us) || erasure.is_some_and(erased)
    }
}
