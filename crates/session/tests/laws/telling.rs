//! The fields beside a response to the model: `will_continue` and `scheduling`.

use std::collections::{BTreeMap, BTreeSet};

use recount_session::{
    Decision, FunctionResponseScheduling, Observation, Outcome, ResponseIssued, Route, Seq,
};

use crate::Verdict;
use crate::model::{Model, name_of};
use crate::recording::{Recording, decided, observed};

/// All responses to one call but the last say that more follows.
///
/// Chunks are sent in order and once, and only those of the current run. The result of a background
/// call has its scheduling, and its failure is silent. The response to a program's call goes to
/// that program only.
pub(crate) fn responses_say_whether_more_follows(recording: &Recording) -> Verdict {
    let mut model = Model::new(recording);
    let mut told: BTreeMap<Seq, (Option<bool>, Option<FunctionResponseScheduling>)> =
        BTreeMap::new();
    let mut meanwhile: BTreeSet<Seq> = BTreeSet::new();
    let mut background: BTreeMap<Seq, FunctionResponseScheduling> = BTreeMap::new();
    let mut own: BTreeMap<Seq, FunctionResponseScheduling> = BTreeMap::new();
    let mut chunks: BTreeMap<Seq, Vec<Seq>> = BTreeMap::new();
    let (mut stale, mut runners) = (BTreeSet::new(), BTreeMap::new());
    for ((_, session), batch) in recording.steps.iter().zip(recording.batches()) {
        for fact in batch {
            match observed(fact) {
                Some(Observation::ToolReturned(it)) => {
                    own.extend(it.scheduling.map(|when| (fact.seq, when)));
                }
                Some(Observation::ToolYielded(it)) => {
                    let runs = model.running.get(&it.call) == Some(&it.attempt);
                    let own = it.runner.is_none() || it.runner.as_ref() == runners.get(&it.call);
                    if runs && own {
                        chunks.entry(it.call).or_default().push(fact.seq);
                    } else {
                        stale.insert(fact.seq);
                    }
                }
                _ => {}
            }
            match decided(fact) {
                Some(Decision::CallStarted(it)) => {
                    background.remove(&it.call);
                    runners.insert(it.call, it.runner);
                }
                Some(Decision::BackgroundSpawned(it)) => {
                    _ = background.insert(it.call, it.scheduling);
                }
                Some(Decision::ResultReused(it)) => {
                    background.remove(&it.call);
                    let policy = model.policy(name_of(model.call(it.call)));
                    background.extend(policy.background.map(|when| (it.call, when.scheduling)));
                }
                Some(Decision::ResponseIssued(it)) => {
                    let call = model.call(it.call);
                    let by_agent = call.by.is_none() && call.parent.is_some();
                    let ways = (it.route == Route::Caller, it.route == Route::Parent);
                    if ways != (call.by.is_some(), by_agent) {
                        return Err(format!("{} goes {:?}", fact.seq, it.route));
                    }
                    if it.of.is_some_and(|of| stale.contains(&of)) {
                        return Err(format!("{} tells of another run", fact.seq));
                    }
                    if let (Outcome::Interim, Some(of)) = (it.outcome, it.of)
                        && let Some(chunks) = chunks.get_mut(&it.call)
                        && chunks.contains(&of)
                        && chunks.remove(0) != of
                    {
                        return Err(format!("{} is out of order", fact.seq));
                    }
                    let scheduling = when(it, background.get(&it.call), &own);
                    let more = match it.outcome {
                        Outcome::Interim => {
                            meanwhile.insert(it.call);
                            Some(true)
                        }
                        _ => meanwhile.contains(&it.call).then_some(false),
                    };
                    told.insert(fact.seq, (more, scheduling));
                }
                // A reconciled outcome is sent without the id, so nothing follows it.
                Some(Decision::OutcomeReconciled(_)) => {
                    _ = told.insert(fact.seq, (None, None));
                }
                _ => {}
            }
            model.read(fact);
        }
        let open = |call: &Seq| session.calls.contains_key(call);
        if let Some((call, _)) = chunks
            .iter()
            .find(|(call, it)| open(call) && !it.is_empty())
        {
            return Err(format!("{call} has chunks that were not told"));
        }
        for (response, delivery) in &session.deliveries {
            let found = (delivery.will_continue, delivery.scheduling);
            let expected = told[response];
            if found != expected {
                return Err(format!("{response} says {found:?}, not {expected:?}"));
            }
        }
    }
    Ok(())
}

fn when(
    response: &ResponseIssued,
    background: Option<&FunctionResponseScheduling>,
    own: &BTreeMap<Seq, FunctionResponseScheduling>,
) -> Option<FunctionResponseScheduling> {
    let own = response.of.and_then(|of| own.get(&of)).copied();
    let silent = background.map(|_| FunctionResponseScheduling::Silent);
    match response.outcome {
        Outcome::Interim => None,
        Outcome::Returned | Outcome::Supplied => own.or(background.copied()),
        Outcome::Failed => own.or(silent),
        Outcome::Refused
        | Outcome::Denied
        | Outcome::Expired
        | Outcome::TimedOut
        | Outcome::Cancelled
        | Outcome::Unknown
        | Outcome::Withdrawn => silent,
    }
}
