//! Which record of a batch led to a decision, found at once also where a batch is long.

use std::collections::BTreeMap;

use crate::record::decision::Decision;
use crate::values::id::Seq;

/// The causes of the decisions of one batch.
///
/// Most decisions follow upon one about the same call, and batches are short: those are found by
/// looking at the last few. What lies further back is noted by its call, because an observation may
/// move thousands of calls.
#[derive(Debug, Default)]
pub struct Causes {
    began: Option<Seq>,
    /// The last decisions about calls: the call, and the record; the next one takes the place of
    /// the oldest.
    near: [(Seq, Seq); LOOKED_AT],
    noted: usize,
    far: BTreeMap<Seq, Seq>,
}

impl Causes {
    /// The batch that begins with this observation.
    pub fn after(observation: Seq) -> Causes {
        Causes {
            began: Some(observation),
            ..Causes::default()
        }
    }

    /// The last record of the batch so far about the same call, or the observation that began it.
    pub fn of(&self, decision: &Decision) -> Option<Seq> {
        let Some(call) = decision.call() else {
            return self.began;
        };
        let (last, before) = self.near.split_at(self.noted % LOOKED_AT);
        let mut near = last.iter().rev().chain(before.iter().rev());
        // What is not filled yet is about no call, since seqs begin with 1.
        let found = near.find(|(about, _)| *about == call).map(|(_, at)| *at);
        found
            .or_else(|| self.far.get(&call).copied())
            .or(self.began)
    }

    /// The decision stands at this place of the batch.
    pub fn note(&mut self, at: Seq, decision: &Decision) {
        let Some(call) = decision.call() else {
            return;
        };
        if let Some(oldest) = self.near.get_mut(self.noted % LOOKED_AT) {
            if self.noted >= LOOKED_AT {
                self.far.insert(oldest.0, oldest.1);
            }
            *oldest = (call, at);
            self.noted += 1;
        }
    }
}

/// How many records are looked at; the decisions about one call are fewer.
const LOOKED_AT: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::decision::CallReady;

    #[test]
    fn the_cause_is_the_last_record_about_the_call_however_far_back_it_is() {
        // Neighbours, calls that come back after long, and calls that come once.
        let calls = |n: u64| [1 + n / 3, 1 + n % 7, 1 + n % 61, 1_000 + n];
        let mut batch: Vec<(Seq, Seq)> = Vec::new();
        let mut causes = Causes::after(Seq(1));
        for call in (0..200).flat_map(calls).map(Seq) {
            let decision = Decision::from(CallReady { call });
            let looked_for = batch.iter().rev().find(|(about, _)| *about == call);
            let looked_for = looked_for.map_or(Seq(1), |(_, at)| *at);
            assert_eq!(causes.of(&decision), Some(looked_for));
            let at = Seq(batch.len() as u64 + 2);
            causes.note(at, &decision);
            batch.push((call, at));
        }
    }
}
