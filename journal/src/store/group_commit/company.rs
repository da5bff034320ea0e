//! How long the committer waits for more appends before it commits those that are in the queue.
//!
//! Each commit costs the processors as much as some steps of a session do: the system's work for
//! the write and its sync, and the threads that are put to sleep and woken for it.

use std::time::Duration;

use super::limits::COMMIT_LIMIT;

/// How long appends that nobody waits for are kept for the next one that somebody does: a commit of
/// their own would only be in its way.
pub(super) const COMPANY: Duration = Duration::from_millis(5);

/// How many appends in one commit show a crowd: whoever is in it waits for a processor anyway.
const CROWD: usize = 16;

/// For each so many streams at work an append is waited for in a crowd: the other streams are what
/// the processors have to do meanwhile.
const SHARE: usize = 8;

/// How long that may take at most: so many looks at the queue, each as long as the last commit took
/// and never longer than this.
pub(super) const LOOKS: (u32, Duration) = (4, Duration::from_micros(500));

/// How many commits of a crowd are not waited for where nobody more came for some in a row, at
/// most.
const REST: u32 = 15;

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

/// What the committer knows of a crowd.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    /// How long one look takes; none behind a commit that was none of a crowd.
    look: Option<Duration>,
    /// How many commits more are not waited for, the one that comes now counted.
    rest: u32,
    /// How many were not the last time.
    rested: u32,
}

impl Crowd {
    /// Behind a commit of so many appends whose write and sync took so long.
    pub(in crate::store) fn behind(&mut self, appends: usize, took: Duration) {
        let (_, longest) = LOOKS;
        self.look = (appends >= CROWD).then(|| took.min(longest));
        self.rest = self.rest.saturating_sub(1);
    }

    /// A crowd that is waited for with looks of any length.
    #[cfg(all(test, feature = "testing"))]
    pub(super) fn of_looks(look: Duration) -> Self {
        Self {
            look: Some(look),
            ..Self::default()
        }
    }

    /// A look found nobody more: the next commit is not waited for, and if that goes on, twice as
    /// many each time.
    pub(super) fn nobody_came(&mut self) {
        self.rested = (self.rested * 2 + 1).min(REST);
        self.rest = self.rested + 1;
    }

    /// A look found more appends: every commit of a crowd is waited for again.
    pub(super) fn more_came(&mut self) {
        self.rested = 0;
    }

    /// How long one look takes, where the crowd is waited for.
    pub(in crate::store) fn look(&self) -> Option<Duration> {
        self.look.filter(|_| self.rest == 0)
    }
}

/// How many appends are waited for where so many streams are at work: no more than one commit
/// takes.
pub(in crate::store) fn share(streams: usize) -> usize {
    (streams / SHARE).min(COMMIT_LIMIT.0)
}
