//! What somebody outside says of a paused call is told in the order in which it was said, and the
//! last word is the last.

use std::collections::BTreeMap;

use recount_session::{
    Command, Decision, Effect, ObjectHash, Observation, Outcome, Rejection, ResponseSupplied, Seq,
    Supplied, owed,
};

use super::Verdict;
use super::recording::{Recording, decided, observed};

/// Each word that is taken is told by one response of its own, at once: news as news, and the last
/// one as the outcome, after which there is no more. What of a call is still to be told is told
/// oldest first.
pub(crate) fn what_is_supplied_is_told_in_its_order_up_to_the_last_word(
    recording: &Recording,
) -> Verdict {
    let mut ended: BTreeMap<Seq, Seq> = BTreeMap::new();
    for ((_, session), batch) in recording.steps.iter().zip(recording.batches()) {
        let issued = batch
            .iter()
            .filter_map(decided)
            .filter_map(|decision| match decision {
                Decision::ResponseIssued(it) => Some(it),
                _ => None,
            });
        for it in issued.clone() {
            if let Some(last) = ended.get(&it.call) {
                return Err(format!(
                    "call {} is told of after its end at {last}",
                    it.call
                ));
            }
        }
        if let Some(Observation::ResponseSupplied(said)) = observed(&batch[0]) {
            let at = batch[0].seq;
            let outcome = if said.will_continue {
                Outcome::Interim
            } else {
                ended.insert(said.call, at);
                Outcome::Supplied
            };
            let told: Vec<_> = issued
                .filter(|it| it.call == said.call)
                .map(|it| (it.outcome, it.of))
                .collect();
            if told != [(outcome, Some(at))] {
                return Err(format!("{at} is told as {told:?}"));
            }
        }
        let mut latest: BTreeMap<Seq, Seq> = BTreeMap::new();
        for effect in owed(session) {
            let Effect::SendResponse { response, .. } = effect else {
                continue;
            };
            let call = session.deliveries[&response].call;
            if latest.insert(call, response) > Some(response) {
                return Err(format!("{response} is owed after what came later"));
            }
        }
    }
    Ok(())
}

/// Whoever says something after the last word is told what that was, and whether they said the
/// same; before it nobody is.
pub(crate) fn whoever_comes_after_the_last_word_is_told_it(recording: &Recording) -> Verdict {
    for (facts, command, rejection) in &recording.commands {
        let Command::SupplyResponse {
            call,
            response,
            will_continue,
            ..
        } = command
        else {
            continue;
        };
        let expected = last_word(recording, *facts, *call).map(|(at, it)| {
            let text = it.response.as_str();
            Rejection::AlreadySupplied {
                supplied: Supplied {
                    at,
                    response: ObjectHash::of(text.as_bytes()),
                    by: it.by.clone(),
                },
                same: text == response.as_str() && !will_continue,
            }
        });
        let is_told = matches!(rejection, Some(Rejection::AlreadySupplied { .. }));
        if (is_told || expected.is_some()) && *rejection != expected {
            return Err(format!(
                "a word for {call} after {facts} facts: expected {expected:?}, told {rejection:?}"
            ));
        }
    }
    Ok(())
}

/// The last word about a call among so many facts.
fn last_word(recording: &Recording, facts: usize, call: Seq) -> Option<(Seq, &ResponseSupplied)> {
    let mut known = recording.facts[..facts].iter();
    known.find_map(|fact| match observed(fact) {
        Some(Observation::ResponseSupplied(it)) if it.call == call && !it.will_continue => {
            Some((fact.seq, it))
        }
        _ => None,
    })
}
