//! Law 5: one answer counts, and later answers are rejected with it.

use std::collections::BTreeMap;

use recount_session::{
    About, ActedAs, Actor, AllowFor, Answered, CancelReason, Command, Decision, Finding,
    Observation, Outcome, Rejection, Seq, Timestamp, ToolConfirmation, UnfitAnswer,
};

use super::Verdict;
use super::asking::too_many;
use super::leave::Runs;
use super::quorum::Approvals;
use super::recording::{Recording, decided, observed};

/// At most one answer to a request is accepted.
pub(crate) fn one_answer_counts(recording: &Recording) -> Verdict {
    let mut answered = BTreeMap::new();
    for fact in &recording.facts {
        if let Some(Observation::ConfirmationAnswered(it)) = observed(fact)
            && let Some(first) = answered.insert(it.request, fact.seq)
        {
            return Err(format!(
                "{first} and {} both answer {}",
                fact.seq, it.request
            ));
        }
    }
    Ok(())
}

/// A rejected answer gets the recorded reason.
///
/// It is the answer that counted, with its actor and seq, or the record that ended the question. An
/// open request accepts the answer.
pub(crate) fn rejected_answer_gets_the_recorded_reason(recording: &Recording) -> Verdict {
    let commands = recording.commands.iter().zip(&recording.times);
    for ((facts, command, rejection), now) in commands {
        if let Command::AnswerConfirmation {
            request,
            answer,
            by,
        } = command
        {
            let mut approvals = Approvals::default();
            recording.facts[..*facts].iter().for_each(|fact| {
                approvals.read(fact);
            });
            let expected = on_record(recording, *facts, *request).or_else(|| match answer {
                Ok(answer) => approvals
                    .refuses(*request, answer, by)
                    .or_else(|| unfit(recording, *facts, *request, answer))
                    .or_else(|| {
                        let max = too_many(recording, *facts, answer, by, *now)?;
                        Some(Rejection::TooManyAnswers { max })
                    })
                    .or_else(|| unfit_leave(recording, *facts, *request, (answer, by)))
                    .or_else(|| approvals.differs(*request, answer)),
                Err(meaningless) => Some(Rejection::UnfitAnswer(meaningless.clone())),
            });
            if *rejection != expected {
                return Err(format!(
                    "an answer to {request} after {facts} facts: expected {expected:?}, \
                     found {rejection:?}"
                ));
            }
        }
    }
    Ok(())
}

/// Returns the reason against an answer to an open request: its tool is gone, or its arguments may
/// not be changed.
fn unfit(
    recording: &Recording,
    facts: usize,
    request: Seq,
    answer: &ToolConfirmation,
) -> Option<Rejection> {
    let question = recording.facts[..facts]
        .iter()
        .find(|fact| fact.seq == request);
    let question = question.and_then(decided).and_then(Decision::question)?;
    let call = recording.calls()[&question.call].name.clone()?;
    let attached = recording.facts[..facts]
        .iter()
        .rev()
        .find_map(|fact| match observed(fact) {
            Some(Observation::RunnerAttached(_)) => Some(true),
            Some(Observation::RunnerDetached(_)) => Some(false),
            _ => None,
        });
    if let Some(found) = &answer.found {
        if question.about != About::InDoubt {
            return Some(Rejection::NothingToSettle);
        }
        if answer.confirmed {
            let problem = "expected a yes, a no or an outcome, found a yes and an outcome".into();
            return Some(Rejection::UnfitAnswer(UnfitAnswer::Malformed { problem }));
        }
        if matches!(found, Finding::Done(result) if !result.is_object()) {
            return Some(Rejection::ResponseNotAnObject);
        }
    }
    let tools = recording.tools_at(facts)?;
    let asked = question.asked.map(|it| &recording.facts[it.0 as usize - 1]);
    let in_place = asked
        .and_then(observed)
        .is_some_and(|it| matches!(it, Observation::ToolAsked(it) if it.in_place));
    if answer.confirmed
        && !in_place
        && attached == Some(true)
        && tools.catalog().get(&call).is_none()
    {
        return Some(Rejection::ToolGone { tool: call });
    }
    let allowed =
        question.about == About::Gate && tools.policies().of(&call).gate_terms.edits.is_some();
    (answer.args.is_some() && !allowed).then_some(Rejection::EditsNotAllowed)
}

/// Returns the reason against the standing leave in an answer to an open request.
fn unfit_leave(
    recording: &Recording,
    facts: usize,
    request: Seq,
    (answer, by): (&ToolConfirmation, &Actor),
) -> Option<Rejection> {
    let bound = answer.allow_for?;
    let question = recording.facts[..facts]
        .iter()
        .find(|fact| fact.seq == request);
    let question = question.and_then(decided).and_then(Decision::question)?;
    let call = recording.calls()[&question.call].name.clone()?;
    let policy = recording.tools_at(facts)?.policies().of(&call).clone();
    let terms = &policy.gate_terms;
    let permits = policy.confirm && terms.may_allow_for_session && terms.payload.is_none();
    if question.about != About::Gate || !permits {
        return Some(Rejection::LeaveNotPermitted);
    }
    let now = recording.facts[facts - 1].at;
    let is_count = |it| matches!(it, AllowFor::Count(_));
    let before = recording.facts[..facts].iter().filter_map(observed);
    let mut before = before.filter_map(|it| match it {
        Observation::ApprovalGiven(it) if it.request == request => it.allow_for,
        _ => None,
    });
    let problem = if !answer.confirmed {
        "only an approval can allow later calls".to_owned()
    } else if answer.args.is_some() {
        "an approval with changed arguments cannot allow later calls".to_owned()
    } else if matches!(by.acted_as, Some(ActedAs::Program(_))) {
        "only a person can allow later calls".to_owned()
    } else if before.any(|it| is_count(it) != is_count(bound)) {
        "an approval before this one has a bound of the other kind".to_owned()
    } else {
        let day = Timestamp(now.0 + 86_400_000_000);
        match bound {
            AllowFor::Until(until) if until > now => return None,
            AllowFor::Until(until) => AllowFor::Until(until).unfit_at(day)?,
            AllowFor::Count(_) => bound.unfit_at(now)?,
        }
    };
    let unfit = UnfitAnswer::InvalidLeave { problem };
    Some(Rejection::UnfitAnswer(unfit))
}

fn on_record(recording: &Recording, facts: usize, request: Seq) -> Option<Rejection> {
    let mut state = Some(Rejection::UnknownRequest { request });
    for fact in &recording.facts[..facts] {
        let at = fact.seq;
        if let Some(Observation::ConfirmationAnswered(it)) = observed(fact)
            && it.request == request
        {
            state = Some(Rejection::AlreadyAnswered(Answered {
                at,
                confirmed: it.confirmed,
                found: it.found.as_ref().map(Finding::found_as),
                by: it.by.clone(),
            }));
        }
        match decided(fact) {
            Some(Decision::ConfirmationRequested(_)) if at == request => state = None,
            Some(Decision::ConfirmationReopened(_)) if at == request => state = None,
            Some(Decision::ConfirmationReopened(it)) if it.request == request => {
                state = Some(Rejection::RequestSuperseded { by: at });
            }
            Some(Decision::ConfirmationExpired(it)) if it.request == request => {
                let goes_on = it.goes_on;
                state = Some(Rejection::RequestExpired { at, goes_on });
            }
            Some(Decision::ConfirmationWithdrawn(it)) if it.request == request => {
                let reason: CancelReason = it.reason;
                state = Some(Rejection::RequestWithdrawn { at, reason });
            }
            _ => {}
        }
    }
    state
}

/// A call that ended as "denied" or "expired" did not run.
///
/// The exception is a call whose tool asked last and did not continue.
pub(crate) fn a_denied_call_did_not_run(recording: &Recording) -> Verdict {
    for (call, settled) in &recording.steps[recording.steps.len() - 1].1.settled {
        let denied = matches!(settled.outcome, Outcome::Denied | Outcome::Expired);
        if denied && counted_starts(recording, *call) > 0 && !asked_last(recording, *call) {
            return Err(format!("call {call} ran and ended {:?}", settled.outcome));
        }
    }
    Ok(())
}

/// True if the last question about a call was its tool's own, and nothing started after it.
fn asked_last(recording: &Recording, call: Seq) -> bool {
    let last = recording.facts.iter().rev().find_map(|fact| {
        let decision = decided(fact).filter(|it| it.call() == Some(call))?;
        let started = matches!(decision, Decision::CallStarted(_));
        decision
            .question()
            .map(|it| it.about == About::Tool)
            .or(started.then_some(false))
    });
    last == Some(true)
}

/// Returns the number of starts of a call, without those whose tools had not begun.
fn counted_starts(recording: &Recording, call: Seq) -> usize {
    let mut runs = Runs::default();
    let mut starts = 0;
    for fact in &recording.facts {
        starts -= runs.read(fact).iter().filter(|it| it.call == call).count();
        if let Some(Decision::CallStarted(it)) = decided(fact) {
            starts += usize::from(it.call == call);
        }
    }
    starts
}
