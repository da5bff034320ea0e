//! By what a call was let run, or kept from it.

use std::fmt;

use serde::Serialize;

use super::audited_call::AuditedCall;
use super::question::{Question, QuestionEnd};
use crate::session::{About, Actor, Hook, Rule, Verdict as PolicySaid};

/// By what a call was let run, or kept from it: the last word about its gate.
///
/// Questions about a run that was cut off, and those that a tool asks by itself, come after that
/// word and have answers of their own in [`AuditedCall::questions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The policies allowed it, and nobody had to be asked.
    AllowedByRule,
    /// Its gate is the embedding program's, which said that nobody had to be asked.
    AllowedByProgram,
    /// Its gate was declared and did not hold; the waiver says why.
    GateWaived,
    /// A person said yes.
    Approved,
    /// A person said no.
    Denied,
    /// A flag or a provider of a program said yes, without a person.
    ApprovedAutomatically,
    /// A flag or a provider of a program said no, without a person.
    DeniedAutomatically,
    /// Nobody answered in time, which is a no.
    Expired,
    /// It was taken back before anybody had answered.
    Withdrawn,
    /// A person is asked, or is to be asked.
    Waiting,
    /// The policies refused it.
    RefusedByPolicy,
    /// The embedding program's hook failed, so it was refused.
    RefusedByProgram,
    /// The embedding program answered it itself; no tool ran.
    AnsweredByProgram,
    /// It got the result of an earlier call; no tool ran.
    ResultReused,
    /// Nothing has been decided.
    Undecided,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Verdict; 15] = [
        Verdict::AllowedByRule,
        Verdict::AllowedByProgram,
        Verdict::GateWaived,
        Verdict::Approved,
        Verdict::Denied,
        Verdict::ApprovedAutomatically,
        Verdict::DeniedAutomatically,
        Verdict::Expired,
        Verdict::Withdrawn,
        Verdict::Waiting,
        Verdict::RefusedByPolicy,
        Verdict::RefusedByProgram,
        Verdict::AnsweredByProgram,
        Verdict::ResultReused,
        Verdict::Undecided,
    ];

    /// As JSON and the command line spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::AllowedByRule => "allowed_by_rule",
            Verdict::AllowedByProgram => "allowed_by_program",
            Verdict::GateWaived => "gate_waived",
            Verdict::Approved => "approved",
            Verdict::Denied => "denied",
            Verdict::ApprovedAutomatically => "approved_automatically",
            Verdict::DeniedAutomatically => "denied_automatically",
            Verdict::Expired => "expired",
            Verdict::Withdrawn => "withdrawn",
            Verdict::Waiting => "waiting",
            Verdict::RefusedByPolicy => "refused_by_policy",
            Verdict::RefusedByProgram => "refused_by_program",
            Verdict::AnsweredByProgram => "answered_by_program",
            Verdict::ResultReused => "result_reused",
            Verdict::Undecided => "undecided",
        }
    }

    /// The verdict of this spelling.
    ///
    /// ```
    /// use recount::audit::Verdict;
    /// assert_eq!(Verdict::named("gate_waived"), Some(Verdict::GateWaived));
    /// assert_eq!(Verdict::named("maybe"), None);
    /// ```
    pub fn named(name: &str) -> Option<Verdict> {
        Verdict::ALL.into_iter().find(|it| it.as_str() == name)
    }

    /// What is on record about a call, in one word.
    pub(super) fn of(call: &AuditedCall) -> Verdict {
        let verdict = last_word(call);
        match verdict {
            // Nobody waits any more for a word about a call that has ended.
            Verdict::Waiting | Verdict::Undecided if call.ended.is_some() => Verdict::Withdrawn,
            Verdict::AllowedByRule
            | Verdict::AllowedByProgram
            | Verdict::GateWaived
            | Verdict::Approved
            | Verdict::Denied
            | Verdict::ApprovedAutomatically
            | Verdict::DeniedAutomatically
            | Verdict::Expired
            | Verdict::Withdrawn
            | Verdict::Waiting
            | Verdict::RefusedByPolicy
            | Verdict::RefusedByProgram
            | Verdict::AnsweredByProgram
            | Verdict::ResultReused
            | Verdict::Undecided => verdict,
        }
    }

    /// What the end of a question says, if it is a word about a gate.
    pub(super) fn of_question(question: &Question) -> Option<Verdict> {
        let by_program = question.by.as_ref().is_some_and(Actor::is_program);
        match question.end {
            QuestionEnd::Open => Some(Verdict::Waiting),
            QuestionEnd::Approved if by_program => Some(Verdict::ApprovedAutomatically),
            QuestionEnd::Approved => Some(Verdict::Approved),
            QuestionEnd::Denied if by_program => Some(Verdict::DeniedAutomatically),
            QuestionEnd::Denied => Some(Verdict::Denied),
            QuestionEnd::Expired => Some(Verdict::Expired),
            QuestionEnd::Withdrawn => Some(Verdict::Withdrawn),
            QuestionEnd::SettledAsDone | QuestionEnd::SettledAsFailed | QuestionEnd::Superseded => {
                None
            }
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn last_word(call: &AuditedCall) -> Verdict {
    let about_gate = |it: &&Question| it.about == About::Gate;
    let question = call.questions.iter().rev().find(about_gate);
    match (question, &call.waived) {
        (Some(question), Some(waived)) if waived.seq > question.seq => Verdict::GateWaived,
        (Some(question), _) => Verdict::of_question(question).unwrap_or(Verdict::Waiting),
        (None, Some(_)) => Verdict::GateWaived,
        (None, None) => without_question(call),
    }
}

fn without_question(call: &AuditedCall) -> Verdict {
    let said = |hook| call.program.iter().rev().find(move |it| it.hook == hook);
    let Some(policy) = &call.policy else {
        return match said(Hook::OnToolCall) {
            Some(it) if it.answered => Verdict::AnsweredByProgram,
            Some(it) if it.failure.is_some() => Verdict::RefusedByProgram,
            Some(_) | None => Verdict::Undecided,
        };
    };
    match (policy.verdict, policy.rule) {
        (PolicySaid::Refused, _) => Verdict::RefusedByPolicy,
        (PolicySaid::Allowed, Rule::Cached) => Verdict::ResultReused,
        (PolicySaid::Allowed, _) => Verdict::AllowedByRule,
        (PolicySaid::Ask, _) => Verdict::Waiting,
        (PolicySaid::AskProgram, _) => match said(Hook::ConfirmWhen) {
            Some(it) if it.gated == Some(false) => Verdict::AllowedByProgram,
            Some(_) => Verdict::Waiting,
            None => Verdict::Undecided,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_is_found_by_its_name_which_is_also_that_in_json() {
        for verdict in Verdict::ALL {
            let name = verdict.as_str();
            assert_eq!(Verdict::named(name), Some(verdict));
            assert_eq!(serde_json::json!(verdict), name);
        }
        assert_eq!(
            serde_json::json!(QuestionEnd::SettledAsFailed),
            QuestionEnd::SettledAsFailed.as_str()
        );
    }
}
