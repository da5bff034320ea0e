//! How many calls there were of each kind.

use std::collections::BTreeMap;

use serde::Serialize;

use super::audited_call::AuditedCall;
use super::question::QuestionEnd;
use super::verdict::Verdict;
use crate::session::{About, ActedAs, Outcome};

/// How many calls there were of each kind.
///
/// `verdicts` add up to `calls`; `outcomes` and `open` do, too. `answers` counts questions, of
/// which a call may have several or none.
///
/// ```json
/// {"calls":4,"verdicts":{"allowed_by_rule":2,"approved":1,"denied":1},"outcomes":{"returned":2,"failed":1,"denied":1},"open":0,
///  "answers":{"approved":1,"denied":1},"program_answers":{},"answers_not_distinguished":0,"ran_without_confirmation":2,"unknown_to_this_day":0,"edited":0,"refused_answers":0}
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// All of them.
    pub calls: u64,
    /// By what they were let run, or kept from it.
    pub verdicts: BTreeMap<Verdict, u64>,
    /// How they ended.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Those that have not ended.
    pub open: u64,
    /// The ends of the questions to people, but for those that a program answered by itself.
    pub answers: BTreeMap<QuestionEnd, u64>,
    /// The ends of the questions that a flag or a provider of a program answered, without a person.
    pub program_answers: BTreeMap<QuestionEnd, u64>,
    /// Those of `answers` whose records do not tell a person from a program.
    pub answers_not_distinguished: u64,
    /// Those that ran without a person's yes.
    pub ran_without_confirmation: u64,
    /// Those that were cut off or ran out of time, and of which nobody has found out what they did.
    pub unknown_to_this_day: u64,
    /// Those whose arguments a person changed.
    pub edited: u64,
    /// Answers that did not count.
    pub refused_answers: u64,
}

impl Totals {
    /// Counts one more.
    pub fn add(&mut self, call: &AuditedCall) {
        self.calls += 1;
        *self.verdicts.entry(call.verdict).or_default() += 1;
        match &call.ended {
            Some(end) => *self.outcomes.entry(end.outcome).or_default() += 1,
            None => self.open += 1,
        }
        for question in &call.questions {
            let answers = match question.by.as_ref().map(|it| &it.acted_as) {
                Some(Some(ActedAs::Program(_))) => &mut self.program_answers,
                Some(None) => {
                    self.answers_not_distinguished += 1;
                    &mut self.answers
                }
                Some(Some(ActedAs::Person)) | None => &mut self.answers,
            };
            *answers.entry(question.end).or_default() += 1;
            self.refused_answers += question.refused.len() as u64;
        }
        self.ran_without_confirmation += u64::from(call.ran_without_confirmation);
        self.unknown_to_this_day += u64::from(call.is_unknown());
        self.edited += u64::from(call.edited_args.is_some());
    }
}

impl AuditedCall {
    /// Whether nobody knows to this day what it did: it was cut off or its time was up, and nobody
    /// has found out.
    pub fn is_unknown(&self) -> bool {
        let outcome = self.ended.as_ref().map(|it| it.outcome);
        let unknown = matches!(outcome, Some(Outcome::Unknown | Outcome::TimedOut));
        let doubted = |it: &super::Question| it.about == About::InDoubt && it.found.is_some();
        unknown && self.reconciled.is_none() && !self.questions.iter().any(doubted)
    }
}
