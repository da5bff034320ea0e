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
    started_by: Option<Seq>,
    /// A ring buffer of the last decisions about calls: the call and the record.
    recent: [(Seq, Seq); RECENT_LEN],
    added: usize,
    older: BTreeMap<Seq, Seq>,
}

impl Causes {
    /// Starts a batch with this observation.
    pub fn after(observation: Seq) -> Causes {
        Causes {
            started_by: Some(observation),
            ..Causes::default()
        }
    }

    /// The last record of the batch about the same call, or else the observation that started the
    /// batch.
    pub fn of(&self, decision: &Decision) -> Option<Seq> {
        let Some(call) = decision.call() else {
            return self.started_by;
        };
        let (last, before) = self.recent.split_at(self.added % RECENT_LEN);
        let mut recent = last.iter().rev().chain(before.iter().rev());
        // Unused entries match no call, because seqs start at 1.
        let found = recent.find(|(about, _)| *about == call).map(|(_, at)| *at);
        found
            .or_else(|| self.older.get(&call).copied())
            .or(self.started_by)
    }

    /// Adds the decision that was recorded at this seq.
    pub fn note(&mut self, at: Seq, decision: &Decision) {
        let Some(call) = decision.call() else {
            return;
        };
        if let Some(oldest) = self.recent.get_mut(self.added % RECENT_LEN) {
            if self.added >= RECENT_LEN {
                self.older.insert(oldest.0, oldest.1);
            }
            *oldest = (call, at);
            self.added += 1;
        }
    }
}

/// The number of recent decisions that are scanned. One call has fewer in a batch.
const RECENT_LEN: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::decision::CallReady;

    #[test]
    fn cause_is_last_record_about_call_at_any_distance() {
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
