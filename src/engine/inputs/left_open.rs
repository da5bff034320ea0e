//! The work that session tasks of this process left open, in a journal that several processes
//! write.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use recount_journal::OpenItem;

use crate::session::{OpenKind, OpenWork, Seq, SessionId};

/// The kinds of open work that need a process.
pub(in crate::engine) const KINDS: [OpenKind; 4] = [
    OpenKind::Ready,
    OpenKind::Running,
    OpenKind::Untold,
    OpenKind::Closing,
];

/// The work that tasks of this process could not do: a pause holds it, its tool is missing, or the
/// model cannot be reached.
///
/// Without it, each process would adopt such a session again and again, and so would the others,
/// with an attempt on record each time. One attempt a process is what a restart makes, too.
#[derive(Default)]
pub(in crate::engine) struct LeftOpen {
    of_sessions: Mutex<BTreeMap<SessionId, Left>>,
}

#[derive(Debug, Eq, PartialEq)]
struct Left {
    /// The version of the journal's pauses that held then.
    pauses: u64,
    /// Everything that is open, with its kind.
    open: BTreeSet<(u64, String)>,
}

impl LeftOpen {
    /// Notes what is open in a session as its task ends, under this version of the pauses.
    pub(in crate::engine) fn note(
        &self,
        session: SessionId,
        pauses: u64,
        open: &[(Seq, OpenWork)],
    ) {
        let needs_process = |(_, it): &(Seq, OpenWork)| KINDS.contains(&it.kind) || it.in_place;
        if !open.iter().any(needs_process) {
            self.of_sessions().remove(&session);
            return;
        }
        let open = open.iter();
        let open = open.map(|(seq, it)| (seq.0, it.kind.as_str().to_owned()));
        let left = Left {
            pauses,
            open: open.collect(),
        };
        self.of_sessions().insert(session, left);
    }

    /// True if anything was noted of a session.
    pub(in crate::engine) fn has(&self, session: SessionId) -> bool {
        self.of_sessions().contains_key(&session)
    }

    /// True if a session has the same open work as was noted, under the same pauses, and none of it
    /// is due.
    pub(in crate::engine) fn is_unchanged(
        &self,
        session: SessionId,
        pauses: u64,
        (open, now_us): (&[OpenItem], i64),
    ) -> bool {
        let is_due = |it: &OpenItem| it.deadline_us.is_some_and(|due| due <= now_us);
        if open.iter().any(is_due) {
            return false;
        }
        let open = open.iter().map(|it| (it.item, it.kind.clone()));
        let left = Left {
            pauses,
            open: open.collect(),
        };
        self.of_sessions().get(&session) == Some(&left)
    }

    /// Forgets all of it: this process can do more than before.
    pub(in crate::engine) fn forget(&self) {
        self.of_sessions().clear();
    }

    fn of_sessions(&self) -> MutexGuard<'_, BTreeMap<SessionId, Left>> {
        let of_sessions = self.of_sessions.lock();
        of_sessions.unwrap_or_else(PoisonError::into_inner)
    }
}
