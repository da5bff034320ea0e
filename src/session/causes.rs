//! Which record of a batch led to a decision, found at once also where a batch is long.

use std::collections::BTreeMap;

use super::decision::Decision;
use super::event::{Event, Fact};
use super::id::Seq;

/// The causes of the decisions of one batch.
///
/// Most decisions follow upon one about the same call, and batches are short: those are found by looking. What lies further
/// back is noted by its call, because an observation may move thousands of calls.
#[derive(Debug, Default)]
pub(crate) struct Causes {
    last: BTreeMap<Seq, Seq>,
    noted: usize,
}

impl Causes {
    /// The last record of the batch so far about the same call, or the observation that began it.
    pub(crate) fn of(&mut self, decision: &Decision, batch: &[Fact]) -> Option<Seq> {
        let began = batch.first().map(|fact| fact.seq);
        let Some(call) = decision.call() else {
            return began;
        };
        let (far, near) = batch.split_at(batch.len().saturating_sub(LOOKED_AT));
        if let Some(fact) = near.iter().rev().find(|it| about(it) == Some(call)) {
            return Some(fact.seq);
        }
        for fact in far.get(self.noted..).unwrap_or_default() {
            if let Some(call) = about(fact) {
                self.last.insert(call, fact.seq);
            }
        }
        self.noted = far.len();
        self.last.get(&call).copied().or(began)
    }
}

/// The call that a decision is about.
fn about(fact: &Fact) -> Option<Seq> {
    match &fact.event {
        Event::Decided(decision) => decision.call(),
        Event::Observed(_) => None,
    }
}

/// How many records are looked at; the decisions about one call are fewer.
const LOOKED_AT: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::decision::CallReady;
    use crate::session::observation::TurnInterrupted;
    use crate::session::time::Timestamp;

    fn fact(seq: u64, event: Event) -> Fact {
        Fact {
            seq: Seq(seq),
            at: Timestamp(0),
            cause: None,
            event,
        }
    }

    #[test]
    fn the_cause_is_the_last_record_about_the_call_however_far_back_it_is() {
        // Neighbours, calls that come back after long, and calls that come once.
        let calls = |n: u64| [n / 3, n % 7, n % 61, 1_000 + n];
        let mut batch = vec![fact(
            1,
            Event::Observed(TurnInterrupted { epoch: Seq(0) }.into()),
        )];
        let mut causes = Causes::default();
        for call in (0..200).flat_map(calls).map(Seq) {
            let decision = Decision::from(CallReady { call });
            let looked_for = batch.iter().rev().find(|it| about(it) == Some(call));
            let looked_for = looked_for.map_or(Seq(1), |it| it.seq);
            assert_eq!(causes.of(&decision, &batch), Some(looked_for));
            batch.push(fact(batch.len() as u64 + 1, Event::Decided(decision)));
        }
    }
}
