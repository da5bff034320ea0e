//! How long the committer waits for more appends before it commits those that are in the queue.
//!
//! Each commit costs the processors as much as some steps of a session do: the system's work for the write and its sync, and the threads that are
//! put to sleep and woken for it.

use std::sync::PoisonError;
use std::time::Duration;

use super::queue::{COMMIT_LIMIT, Shared, State};

/// How long appends that nobody waits for are kept for the next one that somebody does: a commit of their own would only
/// be in its way.
pub(super) const COMPANY: Duration = Duration::from_millis(5);

/// How many appends in one commit show a crowd: whoever is in it waits for a processor anyway.
const CROWD: usize = 16;

/// For each so many streams at work an append is waited for in a crowd: the other streams are what the processors have to do meanwhile.
const SHARE: usize = 8;

/// How long that may take at most: so many times what the last commit took, and never longer than this.
const PATIENCE: (u32, Duration) = (4, Duration::from_millis(2));

/// What the committer waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Company {
    /// Nothing: it is at work, or commits whatever comes first.
    Nobody,
    /// Somebody who waits for what is in the queue.
    Pressing,
    /// So many appends.
    Crowd(usize),
}

/// How long a crowd is waited for behind a commit of so many appends that took so long; not at all behind one that was none of a crowd.
pub(super) fn patience(appends: usize, took: Duration) -> Option<Duration> {
    let (times, most) = PATIENCE;
    (appends >= CROWD).then(|| took.saturating_mul(times).min(most))
}

/// How many appends are waited for where so many streams are at work: no more than one commit takes.
pub(super) fn share(streams: usize) -> usize {
    (streams / SHARE).min(COMMIT_LIMIT.0)
}

impl Shared {
    /// Waits until there is something to commit, or the journal is closing. `patience` is for how long a crowd is waited for.
    pub(super) fn wait(&self, patience: Option<Duration>) {
        let mut state = self.state();
        if let Some(patience) = patience {
            state.company = Company::Crowd(share(state.view.streams_at_work()));
            let is_missing = |state: &mut State| !state.has_crowd() && !state.closing;
            let waited = self.arrived.wait_timeout_while(state, patience, is_missing);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            state.company = Company::Nobody;
        }
        while state.queue.is_empty() && !state.closing {
            let waited = self.arrived.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.company = Company::Pressing;
        // What came while a crowd was waited for has waited so long already.
        let company = COMPANY.saturating_sub(patience.unwrap_or_default());
        let nobody_presses = |state: &mut State| !state.pressing && !state.closing;
        let waited = self
            .arrived
            .wait_timeout_while(state, company, nobody_presses);
        (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.company = Company::Nobody;
    }
}
