//! The check that the records of a session follow each other.

use recount_journal::{Error as JournalError, Hash, Head, Line};

use super::Error;
use crate::session::{Seq, SessionId};

/// The chain of the records that were read.
///
/// A session goes on from what it reads. So what was altered, or is gone, must not be taken for
/// what was decided.
pub(super) struct Chain {
    session: SessionId,
    /// False for a journal that checks its bytes itself, as a directory does.
    hashes: bool,
    /// The leaf hash of the last record that was read, if it is known.
    last: Option<Hash>,
}

impl Chain {
    /// Begins behind a record. `hashes`: whether the records are compared by their hashes.
    pub(super) fn behind(session: SessionId, seq: Seq, hashes: bool) -> Chain {
        let last = (seq == Seq(0)).then_some(Hash::ZERO);
        Chain {
            session,
            hashes,
            last,
        }
    }

    /// Takes the next record.
    ///
    /// # Errors
    /// [`Error::Malformed`], or [`JournalError::Damaged`] for one that does not follow the last.
    pub(super) fn take(&mut self, seq: Seq, line: &Line) -> Result<(), Error> {
        if !self.hashes {
            return Ok(());
        }
        let session = self.session;
        let malformed = |source| Error::Malformed {
            session,
            seq,
            source,
        };
        let prev = line.record().map_err(malformed)?.prev;
        match self.last.replace(line.leaf()) {
            Some(last) if last != prev => {
                Err(self.damaged(seq, "it does not follow the record before it"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Checks that the last record is the one that the head names.
    ///
    /// # Errors
    /// [`JournalError::Damaged`].
    pub(super) fn ends_at(&self, head: &Head) -> Result<(), Error> {
        match self.last {
            Some(last) if self.hashes && last != head.hash => {
                Err(self.damaged(Seq(head.seq), "it is not the one that the head names"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The error of a record that the head counts and the journal does not have.
    pub(super) fn missing(&self, seq: Seq) -> Error {
        self.damaged(seq, "it is missing")
    }

    fn damaged(&self, seq: Seq, what: &str) -> Error {
        let damaged = JournalError::Damaged {
            session: Some(self.session.0),
            seq: Some(seq.0),
            what: what.to_owned(),
        };
        damaged.into()
    }
}
