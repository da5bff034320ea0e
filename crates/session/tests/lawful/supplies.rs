//! Supplied results of a paused call reach the model in order, and the final one ends the call.

use std::collections::BTreeMap;

use recount_session::{
    Command, Decision, Effect, ObjectHash, Observation, Outcome, Rejection, ResponseSupplied, Seq,
    Supplied, owed,
};

use super::Verdict;
use super::recording::{Recording, decided, observed};

/// Each accepted result is issued at once as one response: news as `interim`, the final one as the
/// outcome. Nothing follows the final one. Responses to a call are sent oldest first.
pub(crate) fn supplied_results_are_issued_in_order_until_the_final_one(
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
                return Err(format!("{response} is owed after a later response"));
            }
        }
    }
    Ok(())
}

/// A result after the final one is rejected with the final one, and with whether both are equal. An
/// earlier result is not rejected for this reason.
pub(crate) fn result_after_the_final_one_is_rejected_with_it(recording: &Recording) -> Verdict {
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

/// Returns the final supplied result of a call among the first `facts` facts.
fn last_word(recording: &Recording, facts: usize, call: Seq) -> Option<(Seq, &ResponseSupplied)> {
    let mut known = recording.facts[..facts].iter();
    known.find_map(|fact| match observed(fact) {
        Some(Observation::ResponseSupplied(it)) if it.call == call && !it.will_continue => {
            Some((fact.seq, it))
        }
        _ => None,
    })
}
