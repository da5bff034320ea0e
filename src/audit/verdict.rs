//! The decision that allowed or prevented the run of a call.

use std::fmt;

use serde::Serialize;

use super::audited_call::AuditedCall;
use super::question::{Question, QuestionEnd};
use crate::session::{About, Actor, Hook, Rule, Verdict as PolicyOutcome};

/// The decision that allowed or prevented the run of a call: the last one about its gate.
///
/// Requests about interrupted runs and requests of the tool itself come later. Their answers are in
/// [`AuditedCall::questions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The policies allowed the call without a confirmation.
    AllowedByRule,
    /// The embedding program decides about the call's gate and required no confirmation.
    AllowedByProgram,
    /// The call's gate was declared, but not enforced. The waiver has the reason.
    GateWaived,
    /// No person answered in time, and the policy lets such a call run. No person allowed it.
    AllowedUnanswered,
    /// A standing leave, which a person gave for earlier calls, allowed the call.
    AllowedByLeave,
    /// A person approved.
    Approved,
    /// A person denied.
    Denied,
    /// A program's flag or provider approved, without a person.
    ApprovedAutomatically,
    /// A program's flag or provider denied, without a person.
    DeniedAutomatically,
    /// The request expired without an answer, which counts as a no.
    Expired,
    /// The request was withdrawn before an answer.
    Withdrawn,
    /// The call waits for a confirmation, or for its request.
    Waiting,
    /// The policies refused the call.
    RefusedByPolicy,
    /// The embedding program's hook failed, so the call was refused.
    RefusedByProgram,
    /// The embedding program answered the call; no tool ran.
    AnsweredByProgram,
    /// The call got the result of an earlier call; no tool ran.
    ResultReused,
    /// No decision was made.
    Undecided,
}

impl Verdict {
    /// All verdicts.
    pub const ALL: [Verdict; 17] = [
        Verdict::AllowedByRule,
        Verdict::AllowedByProgram,
        Verdict::GateWaived,
        Verdict::AllowedUnanswered,
        Verdict::AllowedByLeave,
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

    /// Returns the name in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::AllowedByRule => "allowed_by_rule",
            Verdict::AllowedByProgram => "allowed_by_program",
            Verdict::GateWaived => "gate_waived",
            Verdict::AllowedUnanswered => "allowed_unanswered",
            Verdict::AllowedByLeave => "allowed_by_leave",
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

    /// Returns the verdict with this name.
    ///
    /// ```
    /// use recount::audit::Verdict;
    /// assert_eq!(Verdict::named("gate_waived"), Some(Verdict::GateWaived));
    /// assert_eq!(Verdict::named("maybe"), None);
    /// ```
    pub fn named(name: &str) -> Option<Verdict> {
        Verdict::ALL.into_iter().find(|it| it.as_str() == name)
    }

    /// Returns the verdict for a call.
    pub(super) fn of(call: &AuditedCall) -> Verdict {
        let verdict = gate_decision(call);
        match verdict {
            // A call that has ended no longer waits for a decision.
            Verdict::Waiting | Verdict::Undecided if call.ended.is_some() => Verdict::Withdrawn,
            Verdict::AllowedByRule
            | Verdict::AllowedByProgram
            | Verdict::GateWaived
            | Verdict::AllowedUnanswered
            | Verdict::AllowedByLeave
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

    /// Returns the verdict for the end of a request about a gate, if the end is a verdict.
    pub(super) fn of_question(question: &Question) -> Option<Verdict> {
        let by_program = question.by.as_ref().is_some_and(Actor::is_program);
        match question.end {
            QuestionEnd::Open => Some(Verdict::Waiting),
            QuestionEnd::Approved if by_program => Some(Verdict::ApprovedAutomatically),
            QuestionEnd::Approved => Some(Verdict::Approved),
            QuestionEnd::Denied if by_program => Some(Verdict::DeniedAutomatically),
            QuestionEnd::Denied => Some(Verdict::Denied),
            QuestionEnd::Expired => Some(Verdict::Expired),
            QuestionEnd::AllowedUnanswered => Some(Verdict::AllowedUnanswered),
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

fn gate_decision(call: &AuditedCall) -> Verdict {
    let about_gate = |it: &&Question| it.about == About::Gate;
    let question = call.questions.iter().rev().find(about_gate);
    // The last decision about the gate counts.
    let waived = call.waived.as_ref().map(|it| match it.unanswered {
        Some(_) => (it.seq, Verdict::AllowedUnanswered),
        None => (it.seq, Verdict::GateWaived),
    });
    let leave = call
        .leave
        .as_ref()
        .map(|it| (it.seq, Verdict::AllowedByLeave));
    let passed = waived.max(leave);
    match (question, passed) {
        (Some(question), Some((seq, passed))) if seq > question.seq => passed,
        (Some(question), _) => Verdict::of_question(question).unwrap_or(Verdict::Waiting),
        (None, Some((_, passed))) => passed,
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
        (PolicyOutcome::Refused, _) => Verdict::RefusedByPolicy,
        (PolicyOutcome::Allowed, Rule::Cached) => Verdict::ResultReused,
        (PolicyOutcome::Allowed, _) => Verdict::AllowedByRule,
        (PolicyOutcome::Ask, _) => Verdict::Waiting,
        (PolicyOutcome::AskProgram, _) => match said(Hook::ConfirmWhen) {
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
    fn verdict_names_are_equal_to_json_names() {
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
