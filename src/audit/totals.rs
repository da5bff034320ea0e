//! The numbers of calls by several criteria.

use std::collections::BTreeMap;

use serde::Serialize;

use super::audited_call::AuditedCall;
use super::question::QuestionEnd;
use super::verdict::Verdict;
use crate::session::{About, ActedAs, Outcome};

/// The numbers of calls by several criteria.
///
/// The values of `verdicts` add up to `calls`, and so do the values of `outcomes` with `open`.
/// `answers` counts confirmation requests, of which a call has any number.
///
/// ```json
/// {"calls":4,"verdicts":{"allowed_by_rule":2,"approved":1,"denied":1},"outcomes":{"returned":2,
///  "failed":1,"denied":1},"open":0,
///  "answers":{"approved":1,"denied":1},"program_answers":{},"answers_not_distinguished":0,
///  "ran_without_confirmation":2,"unknown_to_this_day":0,"edited":0,"refused_answers":0}
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// The number of all calls.
    pub calls: u64,
    /// The number of calls by verdict.
    pub verdicts: BTreeMap<Verdict, u64>,
    /// The number of ended calls by outcome.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// The number of open calls.
    pub open: u64,
    /// The number of confirmation requests by their end, except those that a program answered.
    pub answers: BTreeMap<QuestionEnd, u64>,
    /// The number of confirmation requests that a program's flag or provider answered, by their
    /// end.
    pub program_answers: BTreeMap<QuestionEnd, u64>,
    /// The number of `answers` whose records do not tell a person from a program.
    pub answers_not_distinguished: u64,
    /// The number of calls that ran without a person's approval.
    pub ran_without_confirmation: u64,
    /// The number of calls that were interrupted or timed out, and whose effect is still unknown.
    pub unknown_to_this_day: u64,
    /// The number of calls whose arguments a person changed.
    pub edited: u64,
    /// The number of refused answers.
    pub refused_answers: u64,
}

impl Totals {
    /// Adds a call.
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
    /// True if the call's effect is still unknown: it was interrupted or timed out, and no finding
    /// is recorded.
    pub fn is_unknown(&self) -> bool {
        let outcome = self.ended.as_ref().map(|it| it.outcome);
        let unknown = matches!(outcome, Some(Outcome::Unknown | Outcome::TimedOut));
        let doubted = |it: &super::Question| it.about == About::InDoubt && it.found.is_some();
        unknown && self.reconciled.is_none() && !self.questions.iter().any(doubted)
    }
}
