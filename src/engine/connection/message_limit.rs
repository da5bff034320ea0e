//! The limit of calls in one message of a model, and the record of a message beyond it.
//!
//! Calls within the limit are one batch, like any other message. Each call beyond it is refused
//! with a response of its own, because a model waits for the response to every call. The refusals
//! follow in batches of bounded length. Between two batches, the session's inbox, other sessions
//! and the signals of the process are served. If the connection ends first, the remaining calls are
//! dropped, because no model waits for them any more.

use std::collections::VecDeque;

use crate::session::{Observation, Seq};

/// The maximum number of observations in one batch beyond the limit. A refused call takes three
/// records of about 200 bytes each, so such a batch is about 75 kB.
const REFUSED_PER_BATCH: usize = 128;

/// The observations of a message that wait for their batch.
#[derive(Default)]
pub(in crate::engine) struct Rest {
    pub(in crate::engine) epoch: Option<Seq>,
    pub(in crate::engine) waiting: VecDeque<Observation>,
}

impl Rest {
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes the next batch. Drops all of them if their connection is not the `live` one.
    pub(in crate::engine) fn next(&mut self, live: Option<Seq>) -> Vec<Observation> {
        if live != self.epoch {
            self.waiting.clear();
        }
        let many = self.waiting.len().min(REFUSED_PER_BATCH);
        self.waiting.drain(..many).collect()
    }
}

/// Marks the calls beyond the first `max`, and returns the index of the first marked one.
pub(in crate::engine) fn mark(max: Option<u32>, observations: &mut [Observation]) -> Option<usize> {
    let (max, mut calls, mut first) = (max?, 0_u32, None);
    for (index, observation) in observations.iter_mut().enumerate() {
        if let Observation::FunctionCallReceived(call) = observation {
            calls = calls.saturating_add(1);
            if calls > max {
                call.beyond_max = Some(max);
                first.get_or_insert(index);
            }
        }
    }
    first
}
