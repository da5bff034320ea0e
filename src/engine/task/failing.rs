//! The end of a session task that failed. The session itself stays in the journal.

use recount_journal::Error as JournalError;

use super::session_task::SessionTask;
use crate::engine::error::Error;
use crate::engine::inputs::registry::Failure;
use crate::ledger;
use recount_journal::causes;

impl SessionTask {
    /// Stops the task. What follows could not be recorded, so nothing may follow.
    ///
    /// In a journal that several processes write, the session is released. A process that can go on
    /// takes it up, as if this one had ended. It may be this one, after a wait.
    pub(super) async fn fail(self: Box<Self>, failure: Failure) {
        tracing::error!(session = %self.id, cause = failure.cause, "the session stopped");
        let _ = self.failure.set(failure);
        let (session, ledger) = (self.id, self.stream.ledger.clone());
        if ledger.journal().sharing().is_some() {
            let now = self.shared.clock.now();
            self.shared.back_off.failed(session, now);
        }
        let mut owned = None;
        self.shared.registry.remove_if(session, || {
            // Before another task of the session can begin, which owns it anew.
            owned = ledger.let_go(session);
            true
        });
        // What runs is stopped before another process can own the session.
        drop(self);
        // A process without a lease owns nothing.
        if ledger.check_lease().is_ok() {
            ledger.release(session, owned).await;
        }
    }
}

impl Failure {
    /// The failure of a task that has handled no input yet.
    pub(super) fn before_any_input(error: &Error) -> Failure {
        let owner = match error {
            Error::Ledger(ledger::Error::Journal(JournalError::Owned { owner, .. })) => {
                Some(owner.clone())
            }
            _ => None,
        };
        Failure {
            owner,
            ..Failure::of(error)
        }
    }

    /// The failure of a task. Its inputs may be recorded.
    pub(super) fn of(error: &Error) -> Failure {
        let cause = match error {
            Error::Stopped { cause, .. } => cause.clone(),
            other => causes(other),
        };
        Failure {
            cause,
            unwritable: error.is_unwritable(),
            owner: None,
        }
    }
}

impl Error {
    /// True if the journal could not be written.
    pub(in crate::engine) fn is_unwritable(&self) -> bool {
        match self {
            Error::Stopped { unwritable, .. } => *unwritable,
            Error::Ledger(ledger::Error::Journal(error)) => {
                error.is_transient() || matches!(error, JournalError::Poisoned { .. })
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::session::SessionId;

    #[test]
    fn owner_counts_only_before_any_input() {
        let owned = || {
            Error::from(JournalError::Owned {
                session: Uuid::from_u128(1),
                owner: "b".to_owned(),
            })
        };
        let early = Failure::before_any_input(&owned());
        assert_eq!(early.owner.as_deref(), Some("b"));
        let late = Failure::of(&owned());
        assert_eq!((late.owner, late.cause), (None, early.cause));
        let other = Failure::before_any_input(&Error::ShutDown);
        assert_eq!(other.owner, None);
    }

    #[test]
    fn failure_tells_if_the_journal_could_not_be_written() {
        let full = JournalError::NoSpace { free: 1, floor: 2 };
        let refused = JournalError::Io {
            doing: "append".to_owned(),
            source: std::io::Error::other("no right"),
        };
        let ended = JournalError::Poisoned {
            cause: "sync".to_owned(),
        };
        for error in [full, refused, ended] {
            let stopped = Error::Stopped {
                session: SessionId(Uuid::from_u128(1)),
                cause: error.to_string(),
                unwritable: Failure::of(&error.into()).unwritable,
            };
            assert!(Failure::of(&stopped).unwritable, "{stopped}");
        }
        assert!(!Failure::of(&JournalError::ReadOnly.into()).unwritable);
        assert!(!Failure::of(&Error::ShutDown).unwritable);
    }
}
