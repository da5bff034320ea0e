//! Erasure of a session: deletes its key, and thereby everything sealed under it.
//!
//! Records are never changed, so all hashes stay valid and the journal still verifies. The sealed
//! content can no longer be decrypted. The journal's own stream records who requested the erasure
//! and why before the key is deleted, and the deletion afterwards.
//!
//! A held session is not erased. The request is appended behind the record up to which the holds
//! were read, so no hold is before it on record. Between the request and the deletion no hold is
//! placed on the session: a lock keeps out the other tasks of this process, and in a journal that
//! several processes write, the request on record refuses the hold. In a journal with one writer, a
//! hold also prevents the completion of an erasure that was interrupted after its request.

use std::collections::BTreeMap;

use recount_journal::Record;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::holds::KEY_DELETIONS;
use super::line::Entry;
use super::{Error, Hold, Ledger};
use crate::session::{Actor, ActorKind, OpenKind, Seq, SessionId, Timestamp};

/// The kind of the record that requests an erasure.
pub(crate) const REQUESTED: &str = "erasure_requested";

/// The kind of the record that completes an erasure.
pub(crate) const ERASED: &str = "session_erased";

/// The number of records read at a time.
const PAGE: usize = 1024;

/// An erasure, as recorded in the journal's own stream.
///
/// ```json
/// {"requested":4,"requested_at_us":1795183387112345,"by":{"name":"ada",
///  "authenticated_by":"os_user"},"reason":"ticket 17",
///  "erased":5,"erased_at_us":1795183387112400}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Erasure {
    /// The request's record, in the stream with the nil id.
    pub requested: Seq,
    /// The time of the request.
    pub requested_at_us: Timestamp,
    /// The person who requested the erasure.
    pub by: Actor,
    /// The reason, stored in clear.
    pub reason: String,
    /// The record of the key's deletion. `None` if the erasure was interrupted.
    pub erased: Option<Seq>,
    /// The time of the deletion's record.
    pub erased_at_us: Option<Timestamp>,
}

/// The reason why a session was not erased.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EraseError {
    /// The journal or the key store failed.
    #[error(transparent)]
    Ledger(#[from] Error),
    /// No key store is configured, so there is no key to delete.
    #[error("expected the key store of session {session}, found none")]
    NoKeyStore {
        /// The session.
        session: SessionId,
    },
    /// The key store has no key for the session: nothing is sealed, or the key is in another store.
    #[error(
        "expected a key of session {session} in the key store, found none: nothing of it is sealed, or its key is elsewhere"
    )]
    NoKey {
        /// The session.
        session: SessionId,
    },
    /// The session's records are in clear. Deleting a key would hide at most separately sealed
    /// values, such as secret arguments.
    #[error(
        "expected a sealed session, found that session {session} was never sealed: \
         its records are in clear"
    )]
    InClear {
        /// The session.
        session: SessionId,
    },
    /// The reason is empty.
    #[error("expected a reason, found none")]
    NoReason,
    /// Calls of the session are still open, and the erasure would make it impossible to finish
    /// them.
    #[error("expected a session in which nothing is open, found {items} open in session {session}")]
    WorkOpen {
        /// The session.
        session: SessionId,
        /// The number of open calls.
        items: usize,
    },
    /// A legal hold keeps the session.
    #[error("expected a session that no hold keeps, found session {session} under {hold}")]
    Held {
        /// The session.
        session: SessionId,
        /// The oldest of the holds.
        hold: Box<Hold>,
    },
    /// A legal hold keeps sessions by a label, and the labels of this session cannot be read.
    #[error(
        "expected the labels of session {session}, which its key here does not open, to compare \
         them with {hold}"
    )]
    LabelsUnreadable {
        /// The session.
        session: SessionId,
        /// The oldest of the holds by label.
        hold: Box<Hold>,
    },
}

#[derive(Deserialize, Serialize)]
struct Requested {
    session: SessionId,
    by: Actor,
    reason: String,
}

#[derive(Deserialize, Serialize)]
struct Erased {
    session: SessionId,
    requested: Seq,
    /// True if the key existed, false if it was already gone.
    found: bool,
}

/// The state of an erasure before the deletion of the key.
enum Begun {
    /// It was completed before.
    Before(Erasure),
    /// Its request is on record.
    Requested {
        at: Seq,
        /// True if the key store has the key.
        has_key: bool,
    },
}

impl Ledger {
    /// Deletes the key of a session and records who requested that and why.
    ///
    /// Nothing sealed under the key can be decrypted afterwards. For an erased session, returns the
    /// recorded erasure. Completes an erasure that was interrupted.
    ///
    /// A session under a legal hold is not erased ([`Ledger::holds`]).
    ///
    /// Copies elsewhere are not affected: backups of the key store, and exports in clear. No
    /// process may serve the session at the same time, because it would hold the key in memory
    /// until it exits.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use recount::journal::seal::{FileKeyStore, MasterKey};
    /// use recount::journal::DiskJournal;
    /// use recount::ledger::Ledger;
    /// use recount::session::{Actor, SessionId, Timestamp};
    ///
    /// # async fn example(
    /// #     id: SessionId,
    /// #     master: MasterKey,
    /// #     now: Timestamp,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// let journal = DiskJournal::open("journal")?;
    /// let ledger =
    ///     Ledger::new(Arc::new(journal)).with_keys(Arc::new(FileKeyStore::open("keys", master)?));
    /// let erasure = ledger
    ///     .erase(
    ///         id,
    ///         Actor::os_user("ada"),
    ///         "the customer asked, ticket 17",
    ///         now,
    ///     )
    ///     .await?;
    /// assert!(erasure.erased.is_some());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// An [`EraseError`]. The key is unchanged, unless the key store failed, or the journal failed
    /// after the deletion. A second call completes such an erasure.
    pub async fn erase(
        &self,
        session: SessionId,
        by: Actor,
        reason: &str,
        now: Timestamp,
    ) -> Result<Erasure, EraseError> {
        if reason.trim().is_empty() {
            return Err(EraseError::NoReason);
        }
        if !self.is_sealed(session).await? {
            return Err(EraseError::InClear { session });
        }
        let keys = self.keys().ok_or(EraseError::NoKeyStore { session })?;
        // Until the end, so that no hold is placed between the check and the deletion.
        let _deleting = KEY_DELETIONS.lock().await;
        let request = Requested {
            session,
            by,
            reason: reason.to_owned(),
        };
        let (requested, found) = match self.request_erasure(request, now).await? {
            Begun::Before(done) => return Ok(done),
            Begun::Requested { at, has_key } => (at, has_key),
        };
        // The next owner of the session would read it with the key.
        self.check_lease()?;
        keys.erase(session.0).await.map_err(Error::from)?;
        // The snapshot cannot be decrypted without the key.
        let journal = self.journal();
        if let Err(error) = journal.keep_snapshot(session.0, Vec::new()).await {
            tracing::debug!(%session, %error, "its snapshot stays, sealed");
        }
        let deleted = Erased {
            session,
            requested,
            found,
        };
        Ok(self.complete_erasure(deleted, now).await?)
    }

    /// Records the request of an erasure, or finds one that was not completed.
    async fn request_erasure(
        &self,
        request: Requested,
        now: Timestamp,
    ) -> Result<Begun, EraseError> {
        let session = request.session;
        loop {
            // The decision is about the stream up to here. If another process appends meanwhile,
            // such as a hold, it is taken anew.
            let head = self.own_head().await?;
            // A key that cannot be unwrapped is still a key and is deleted, too.
            let has_key = self.has_key(session).await?;
            if has_key {
                self.expect_nothing_open(session).await?;
                self.expect_not_held(session).await?;
            }
            match self.erasures().await?.remove(&session) {
                Some(done) if done.erased.is_some() && !has_key => return Ok(Begun::Before(done)),
                Some(begun) if begun.erased.is_none() => {
                    let at = begun.requested;
                    return Ok(Begun::Requested { at, has_key });
                }
                // The key exists again, for example in a restored key store.
                Some(_) | None if has_key => {}
                Some(_) | None => return Err(EraseError::NoKey { session }),
            }
            let about = (session, ActorKind::Person);
            let body = (REQUESTED, &request);
            if let Some(at) = self.append_own(head, about, body, now).await? {
                return Ok(Begun::Requested { at, has_key });
            }
        }
    }

    /// Records the deletion of a key once, and returns the erasure.
    async fn complete_erasure(&self, deleted: Erased, now: Timestamp) -> Result<Erasure, Error> {
        let session = deleted.session;
        loop {
            let head = self.own_head().await?;
            match self.erasures().await?.remove(&session) {
                // Another process has completed the same erasure.
                Some(done) if done.erased.is_some() => return Ok(done),
                Some(_) => {}
                None => return Err(Error::UnknownSession { session }),
            }
            let about = (session, ActorKind::Person);
            self.append_own(head, about, (ERASED, &deleted), now)
                .await?;
        }
    }

    async fn expect_nothing_open(&self, session: SessionId) -> Result<(), EraseError> {
        let open = self.journal().open_work_of(session.0).await;
        let mut open = open.map_err(Error::from)?;
        let waits =
            |kind: &str| kind != OpenKind::Session.as_str() && kind != OpenKind::Pause.as_str();
        open.retain(|it| waits(&it.kind));
        match open.len() {
            0 => Ok(()),
            items => Err(EraseError::WorkOpen { session, items }),
        }
    }

    /// True if the records of a session are sealed.
    pub(super) async fn is_sealed(&self, session: SessionId) -> Result<bool, Error> {
        let first = self.journal().read(session.0, 1, 1).await?;
        let first = first.into_iter().next();
        let first = first.ok_or(Error::UnknownSession { session })?;
        Ok(Entry::read(session, Seq(1), first, None)?.is_sealed())
    }

    /// Returns the last recorded erasure of each erased session.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    pub async fn erasures(&self) -> Result<BTreeMap<SessionId, Erasure>, Error> {
        let (mut erasures, mut next) = (BTreeMap::new(), 1);
        loop {
            let lines = self.journal().read(Uuid::nil(), next, PAGE).await?;
            if lines.is_empty() {
                return Ok(erasures);
            }
            next += lines.len() as u64;
            for line in &lines {
                // Invalid records are skipped here; `verify` reports them.
                if let Ok(record) = line.record() {
                    note_erasure(&mut erasures, &record);
                }
            }
        }
    }

    /// Returns the sessions whose erasure is on record after `seen` in the journal's own stream,
    /// and the last seq of that stream. Without a new record nothing is read.
    ///
    /// # Errors
    /// The error of a journal that cannot be read.
    #[doc(hidden)]
    pub async fn erased_after(&self, seen: Seq) -> Result<(Vec<SessionId>, Seq), Error> {
        let head = self.own_head().await?.map_or(0, |head| head.seq);
        let (mut erased, mut next) = (Vec::new(), seen.0 + 1);
        while next <= head {
            let lines = self.journal().read(Uuid::nil(), next, PAGE).await?;
            if lines.is_empty() {
                break;
            }
            next += lines.len() as u64;
            // Invalid records are skipped here; `verify` reports them.
            let records = lines.iter().filter_map(|line| line.record().ok());
            let deleted = records.filter(|it| it.kind == ERASED);
            let named = deleted.filter_map(|it| serde_json::from_str(it.body.get()).ok());
            erased.extend(named.map(|it: Erased| it.session));
        }
        Ok((erased, Seq(next - 1)))
    }
}

pub(super) fn note_erasure(erasures: &mut BTreeMap<SessionId, Erasure>, record: &Record<'_>) {
    let (seq, at) = (Seq(record.seq), Timestamp(record.at_us));
    match record.kind {
        REQUESTED => {
            if let Ok(it) = serde_json::from_str::<Requested>(record.body.get()) {
                let erasure = Erasure {
                    requested: seq,
                    requested_at_us: at,
                    by: it.by,
                    reason: it.reason,
                    erased: None,
                    erased_at_us: None,
                };
                erasures.insert(it.session, erasure);
            }
        }
        ERASED => {
            if let Ok(it) = serde_json::from_str::<Erased>(record.body.get())
                && let Some(erasure) = erasures.get_mut(&it.session)
                && erasure.requested == it.requested
            {
                (erasure.erased, erasure.erased_at_us) = (Some(seq), Some(at));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
#[path = "erasure_tests.rs"]
mod tests;
