//! The committer's wait for something to commit, and for more appends beside it.

use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::company::{COMPANY, Company, Crowd, LOOKS, share};
use super::queue::Shared;
use super::state::State;

impl Shared {
    /// Waits until there is something to commit, or the journal is closing.
    pub(super) fn wait(&self, crowd: &mut Crowd) {
        let begun = Instant::now();
        let mut state = self.wait_for(crowd);
        // What came while a crowd was waited for has waited some of it already.
        let waited = if state.queue.is_empty() {
            Duration::ZERO
        } else {
            begun.elapsed()
        };
        while state.queue.is_empty() && !state.closing {
            let arrived = self.arrived.wait(state);
            state = arrived.unwrap_or_else(PoisonError::into_inner);
        }
        state.company = Company::Pressing;
        let company = COMPANY.saturating_sub(waited);
        let nobody_presses = |state: &mut State| !state.pressing && !state.closing;
        let pressed = self
            .arrived
            .wait_timeout_while(state, company, nobody_presses);
        (state, _) = pressed.unwrap_or_else(PoisonError::into_inner);
        state.company = Company::Nobody;
    }

    /// Waits for a share of the crowd, if there is one. It ends early where nobody more comes:
    /// those who came may be all there are, however many streams were lately added to.
    fn wait_for(&self, crowd: &mut Crowd) -> MutexGuard<'_, State> {
        let mut state = self.state();
        let Some(look) = crowd.look() else {
            return state;
        };
        state.company = Company::Crowd(share(state.view.streams_at_work()));
        for _ in 0..LOOKS.0 {
            let before = state.queue.len();
            let is_missing = |state: &mut State| !state.has_crowd() && !state.closing;
            let waited = self.arrived.wait_timeout_while(state, look, is_missing);
            let (seen, looked) = waited.unwrap_or_else(PoisonError::into_inner);
            state = seen;
            if !looked.timed_out() {
                crowd.more_came();
                break;
            }
            if state.queue.len() == before {
                crowd.nobody_came();
                break;
            }
        }
        state.company = Company::Nobody;
        state
    }
}
