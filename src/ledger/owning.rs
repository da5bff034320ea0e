//! The ownership of sessions, in a journal that several processes write.

use std::borrow::Cow;

use recount_journal::Error as JournalError;
use recount_journal::seal::SessionKey;

use super::{Error, Ledger};
use crate::session::SessionId;

/// The place for which texts between processes are sealed.
const BETWEEN_PROCESSES: &str = "between processes";

/// The number of claims until a session counts as locked. A claim of one that is locked waits.
const CLAIMS_MAX: usize = 10;

/// The proof that no other process appends to a session: this one holds the lock of the journal, or
/// it has claimed the session, and the epoch of the former owner has ended.
pub(crate) struct Owned {
    _session: SessionId,
}

#[cfg(test)]
impl Owned {
    /// The proof for a session in a journal with one writer.
    pub(crate) fn in_own_journal(session: SessionId) -> Owned {
        Owned { _session: session }
    }
}

impl Ledger {
    /// Makes this process the owner of a session, unless another one is. In a journal with one
    /// writer it owns every session.
    ///
    /// It comes before the session is loaded: what the former owner left open is then known to be
    /// left.
    ///
    /// # Errors
    /// [`Owned`](JournalError::Owned) with the name of the other process; [`Io`](JournalError::Io)
    /// if it stays locked in the store.
    pub(crate) async fn own(&self, session: SessionId) -> Result<Owned, Error> {
        let owned = Owned { _session: session };
        let Some(sharing) = self.journal().sharing() else {
            return Ok(owned);
        };
        for _ in 0..CLAIMS_MAX {
            if !sharing.claim(vec![session.0]).await?.is_empty() {
                return Ok(owned);
            }
            if let Some(owner) = sharing.owner(session.0).await? {
                let session = session.0;
                return Err(JournalError::Owned { session, owner }.into());
            }
            // Without a record there is nothing to own. Otherwise it was released just now, or
            // something else has locked it, for which the claim has waited.
            if self.journal().head(session.0).await?.is_none() {
                return Ok(owned);
            }
        }
        let locked = std::io::Error::other("something else holds it locked");
        Err(JournalError::io(format!("claim session {session}"))(locked).into())
    }

    /// Notes that this process appends to a session no more, until it owns it anew. Returns what
    /// [`release`](Ledger::release) takes.
    pub(crate) fn let_go(&self, session: SessionId) -> Option<i64> {
        self.journal().sharing()?.let_go(session.0)
    }

    /// Releases a session that this process has let go, so that another one may own it.
    pub(crate) async fn release(&self, session: SessionId, epoch: Option<i64>) {
        if let (Some(sharing), Some(epoch)) = (self.journal().sharing(), epoch) {
            sharing.release(session.0, epoch).await;
        }
    }

    /// Returns a text for another process of the journal, sealed if the session has a key: the
    /// database must not have in clear what its records have sealed.
    ///
    /// # Errors
    /// [`Error::Sealed`] for a sealed session whose key is not here.
    pub(crate) async fn seal_for_process(
        &self,
        session: SessionId,
        text: String,
    ) -> Result<String, Error> {
        match self.key_for_process(session).await? {
            Some(key) => Ok(key.seal_text(BETWEEN_PROCESSES, &text)?),
            None => Ok(text),
        }
    }

    /// Returns the text that [`seal_for_process`](Ledger::seal_for_process) sealed.
    ///
    /// # Errors
    /// [`Error::Sealed`] without the key, and the error of a text that it cannot open.
    pub(crate) async fn open_from_process<'t>(
        &self,
        session: SessionId,
        text: &'t str,
    ) -> Result<Cow<'t, str>, Error> {
        match self.key_for_process(session).await? {
            Some(key) => {
                let opened = key.open_text(BETWEEN_PROCESSES, text)?;
                Ok(Cow::Owned(opened.as_str().to_owned()))
            }
            None => Ok(Cow::Borrowed(text)),
        }
    }

    async fn key_for_process(&self, session: SessionId) -> Result<Option<SessionKey>, Error> {
        // The journal's own stream is no session.
        if session.0.is_nil() {
            return Ok(None);
        }
        let key = self.key(session).await?;
        if key.is_none() && self.is_sealed(session).await? {
            return Err(Error::Sealed { session });
        }
        Ok(key)
    }

    /// Checks that this process may start what it owes: its lease on its sessions is valid.
    ///
    /// # Errors
    /// [`Poisoned`](JournalError::Poisoned).
    pub(crate) fn check_lease(&self) -> Result<(), Error> {
        match self.journal().sharing() {
            Some(sharing) => Ok(sharing.lease()?),
            None => Ok(()),
        }
    }
}

impl Error {
    /// True if another process owns the session.
    pub(crate) fn is_owned(&self) -> bool {
        matches!(self, Error::Journal(JournalError::Owned { .. }))
    }
}
