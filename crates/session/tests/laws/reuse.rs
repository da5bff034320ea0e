//! Reused results, and retries.

use std::collections::BTreeMap;

use recount_session::{Deadline, Decision, Fact, InDoubt, Observation, Seq};

use crate::Verdict;
use crate::model::{Model, name_of};
use crate::recording::{Recording, decided, observed};
use crate::terms::CLERK;

/// A reused result is the latest of an equal call, of the current contract, and not too old. Two
/// equal calls that share results never run at once.
pub(crate) fn reused_result_is_of_an_equal_call(recording: &Recording) -> Verdict {
    let mut model = Model::new(recording);
    for fact in &recording.facts {
        match decided(fact) {
            Some(Decision::ResultReused(it)) => {
                let found = model.result_for(it.call, fact.at);
                if found != Some(it.of) {
                    return Err(format!("{} uses {} and not {found:?}", fact.seq, it.of));
                }
            }
            Some(Decision::CallStarted(it)) if model.shares(it.call) => {
                let mut others = model.running.keys().filter(|other| **other != it.call);
                let twin =
                    others.find(|other| model.shares(**other) && model.equal(it.call, **other));
                if let Some(twin) = twin {
                    return Err(format!("{} starts although {twin} runs", fact.seq));
                }
            }
            _ => {}
        }
        model.read(fact);
    }
    Ok(())
}

/// Only an idempotent tool with a retry policy is retried.
///
/// Its run failed in a way that may pass, or timed out. The number of runs is limited, the wait
/// ends before the next start, and the waits double.
pub(crate) fn only_retriable_runs_are_retried(recording: &Recording) -> Verdict {
    let mut model = Model::new(recording);
    let mut starts: BTreeMap<Seq, u32> = BTreeMap::new();
    let mut waits: BTreeMap<Seq, u32> = BTreeMap::new();
    for batch in recording.batches() {
        if let Some(Observation::DeadlinePassed(it)) = observed(&batch[0])
            && let Deadline::Retry { call, attempt } = it.deadline
            && waits.get(&call) == Some(&attempt)
        {
            waits.remove(&call);
        }
        let failed = fails(&model, &batch[0]);
        for fact in batch {
            match decided(fact) {
                // A retry of an agent repeats only the request to its model; see `agents_tests`.
                Some(Decision::RetryScheduled(it)) if name_of(model.call(it.call)) == CLERK => {
                    waits.insert(it.call, it.attempt);
                }
                Some(Decision::RetryScheduled(it)) => {
                    let policy = model.policy(name_of(model.call(it.call)));
                    let Some(retry) = policy.retry else {
                        return Err(format!("{} has no policy", fact.seq));
                    };
                    let made = starts.get(&it.call).copied().unwrap_or_default();
                    let given_back = model.given_back.get(&it.call).copied();
                    let runs = made - given_back.unwrap_or_default();
                    let wait_us = retry.backoff_ms * 1000 * 2_u64.pow(runs - 1);
                    let fine = policy.in_doubt == InDoubt::Retry
                        && runs < retry.attempts_max
                        && it.attempt == made + 1
                        && it.due_us.0 - fact.at.0 == wait_us as i64
                        && failed == Some(it.call);
                    if !fine {
                        return Err(format!("{} must not be: {policy:?}", fact.seq));
                    }
                    waits.insert(it.call, it.attempt);
                }
                Some(Decision::CallStarted(it)) => {
                    if waits.contains_key(&it.call) {
                        return Err(format!("{} does not wait", fact.seq));
                    }
                    starts.insert(it.call, it.attempt);
                }
                _ => {}
            }
            model.read(fact);
        }
    }
    Ok(())
}

/// Returns the call whose running attempt ends by this record in a way that may pass.
fn fails(model: &Model<'_>, fact: &Fact) -> Option<Seq> {
    let (call, attempt) = match observed(fact)? {
        Observation::ToolReturned(it) => {
            let lasting = it.error_kind.as_deref() == Some("invalid_args");
            (it.failed && !lasting).then_some((it.call, it.attempt))?
        }
        Observation::DeadlinePassed(it) => match it.deadline {
            Deadline::Run { call, attempt } => (call, attempt),
            Deadline::Confirmation { .. }
            | Deadline::Retry { .. }
            | Deadline::Lease { .. }
            | Deadline::Acknowledgement { .. } => {
                return None;
            }
        },
        _ => return None,
    };
    (model.running.get(&call) == Some(&attempt)).then_some(call)
}
