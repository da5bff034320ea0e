//! Changed catalogs, and calls of programs with idempotency keys.

use std::collections::BTreeMap;

use recount_session::{Decision, Observation, Outcome, RULES_OF_KEYS};

use super::Verdict;
use super::recording::{Recording, decided, observed};

/// A changed catalog, or a renewed attachment, puts nothing in doubt. The runner stays, every
/// running call keeps its attempt, and none ends.
pub(crate) fn changed_terms_doubt_nothing(recording: &Recording) -> Verdict {
    let before = std::iter::once(&recording.start).chain(recording.steps.iter().map(|it| &it.1));
    let after = recording.steps.iter().map(|it| &it.1);
    for ((before, after), batch) in before.zip(after).zip(recording.batches()) {
        if !recording.renews(batch[0].seq) {
            continue;
        }
        let at = batch[0].seq;
        if before.runner != after.runner || before.connection != after.connection {
            return Err(format!("{at} replaces the runner or the connection"));
        }
        for (seq, call) in before.calls.iter().filter(|(_, call)| call.runs()) {
            let now = after.calls.get(seq);
            if now.is_none_or(|now| !now.runs() || now.attempts != call.attempts) {
                return Err(format!("{at} changes the run of {seq}: {now:?}"));
            }
        }
        for fact in batch {
            if let Some(Decision::ResponseIssued(it)) = decided(fact)
                && it.outcome == Outcome::Unknown
                && before.calls.get(&it.call).is_some_and(|call| call.runs())
            {
                return Err(format!("{} ends a running call", fact.seq));
            }
        }
    }
    Ok(())
}

/// One idempotency key is one call: it is judged once, and only under rules that know keys. What is
/// due for other calls by the time of a repetition is decided with it.
pub(crate) fn one_key_is_one_call(recording: &Recording) -> Verdict {
    let mut first = BTreeMap::new();
    let before = std::iter::once(&recording.start).chain(recording.steps.iter().map(|it| &it.1));
    let after = recording.steps.iter().map(|it| &it.1);
    for ((before, after), batch) in before.zip(after).zip(recording.batches()) {
        let Some(Observation::FunctionCallReceived(it)) = observed(&batch[0]) else {
            continue;
        };
        let (Some(key), Some(_)) = (&it.key, &it.by) else {
            continue;
        };
        if before.rules < RULES_OF_KEYS {
            return Err(format!("{} has a key under older rules", batch[0].seq));
        }
        let call = *first.entry(key).or_insert(batch[0].seq);
        let of_this = |fact| decided(fact).is_some_and(|it| it.call() == Some(batch[0].seq));
        if call != batch[0].seq
            && (batch.iter().any(of_this) || after.calls.contains_key(&batch[0].seq))
        {
            return Err(format!("{} repeats {call} and is a call", batch[0].seq));
        }
        let judges = |fact| matches!(decided(fact), Some(Decision::PolicyDecided(_)));
        if call == batch[0].seq && !before.closed && !batch.iter().any(judges) {
            return Err(format!("{call} is the first of its key and was not judged"));
        }
    }
    Ok(())
}
