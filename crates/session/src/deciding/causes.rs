//! The index that finds the record that caused a decision, also in long batches.

use std::collections::BTreeMap;

use crate::record::decision::Decision;
use crate::values::id::Seq;

/// The causes of the decisions of one batch.
///
/// Most decisions follow a recent decision about the same call, so a scan of the last few finds
/// their cause. Older decisions are indexed by call, because one observation may move thousands of
/// calls.
#[derive(Debug, Default)]
pub struct Causes {
    began: Option<Seq>,
    /// A ring buffer of the last decisions about calls: the call and the record.
    near: [(Seq, Seq); LOOKED_AT],
    noted: usize,
    far: BTreeMap<Seq, Seq>,
}

impl Causes {
    /// Starts a batch with this observation.
    pub fn after(observation: Seq) -> Causes {
        Causes {
            began: Some(observation),
            ..Causes::default()
        }
    }

    /// The last record of the batch about the same call, or else the observation that started the
    /// batch.
    pub fn of(&self, decision: &Decision) -> Option<Seq> {
        let Some(call) = decision.call() else {
            return self.began;
        };
        let (last, before) = self.near.split_at(self.noted % LOOKED_AT);
        let mut near = last.iter().rev().chain(before.iter().rev());
        // Unused entries match no call, because seqs start at 1.
        let found = near.find(|(about, _)| *about == call).map(|(_, at)| *at);
        found
            .or_else(|| self.far.get(&call).copied())
            .or(self.began)
    }

    /// Adds the decision that was recorded at this seq.
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

/// The number of recent decisions that are scanned. One call has fewer in a batch.
const LOOKED_AT: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::decision::CallReady;

    #[test]
    fn the_cause_is_the_last_record_about_the_call_however_far_back_it_is() {
        // Adjacent calls, calls that recur after a long gap, and calls that occur once.
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
