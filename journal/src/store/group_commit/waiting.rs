//! The committer's wait for an append, and for more appends to commit with it.

use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::commit_delay::{
    BUFFERED_DELAY_MAX, CommitDelay, POLLS_MAX, WakeCondition, target_batch,
};
use super::queue::Shared;
use super::state::State;

impl Shared {
    /// Waits until the queue should be committed, or the journal is closing.
    pub(super) fn wait(&self, delay: &mut CommitDelay) {
        let begun = Instant::now();
        let mut state = self.wait_for_batch(delay);
        // The delay for a batch counts towards the delay of its buffered appends.
        let waited = if state.queue.is_empty() {
            Duration::ZERO
        } else {
            begun.elapsed()
        };
        while state.queue.is_empty() && !state.closing {
            let arrived = self.arrived.wait(state);
            state = arrived.unwrap_or_else(PoisonError::into_inner);
        }
        state.wake_condition = WakeCondition::AwaitedAppend;
        let left = BUFFERED_DELAY_MAX.saturating_sub(waited);
        let is_not_awaited = |state: &mut State| !state.awaited && !state.closing;
        let awaited = self.arrived.wait_timeout_while(state, left, is_not_awaited);
        (state, _) = awaited.unwrap_or_else(PoisonError::into_inner);
        state.wake_condition = WakeCondition::AnyAppend;
    }

    /// Waits for the target batch, if the commit is delayed. A poll without a new append ends the
    /// wait: the appends in the queue may be all, however many streams were active lately.
    fn wait_for_batch(&self, delay: &mut CommitDelay) -> MutexGuard<'_, State> {
        let mut state = self.state();
        let Some(poll) = delay.poll() else {
            return state;
        };
        state.wake_condition = WakeCondition::Batch(target_batch(state.view.active_streams()));
        for _ in 0..POLLS_MAX {
            let before = state.queue.len();
            let is_missing = |state: &mut State| !state.has_full_batch() && !state.closing;
            let waited = self.arrived.wait_timeout_while(state, poll, is_missing);
            let (locked, polled) = waited.unwrap_or_else(PoisonError::into_inner);
            state = locked;
            if !polled.timed_out() {
                delay.batch_was_filled();
                break;
            }
            if state.queue.len() == before {
                delay.poll_was_empty();
                break;
            }
        }
        state.wake_condition = WakeCondition::AnyAppend;
        state
    }
}
