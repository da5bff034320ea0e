//! Sequence numbers, times and causes.

use crate::Verdict;
use crate::recording::{Recording, observed};
use recount_session::Seq;

/// Seqs have no gap, a batch shares one time, time never decreases, and a cause precedes its
/// effect.
pub(crate) fn seqs_times_and_causes_are_in_order(recording: &Recording) -> Verdict {
    let mut last = (Seq(0), recording.start.at);
    for batch in recording.batches() {
        for (index, fact) in batch.iter().enumerate() {
            if fact.seq != last.0.next() || fact.at < last.1 || fact.at != batch[0].at {
                return Err(format!("{} is out of order", fact.seq));
            }
            if fact
                .cause
                .is_some_and(|cause| cause < Seq(1) || cause >= fact.seq)
            {
                return Err(format!("{} has the cause {:?}", fact.seq, fact.cause));
            }
            if (index == 0) != observed(fact).is_some() {
                return Err(format!(
                    "{} is not one observation and its decisions",
                    fact.seq
                ));
            }
            if index > 0 && fact.cause.is_none_or(|cause| cause < batch[0].seq) {
                return Err(format!("{} was not caused within its batch", fact.seq));
            }
            last = (fact.seq, fact.at);
        }
    }
    Ok(())
}
