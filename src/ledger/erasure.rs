//! Erasure of a session: deletes its key, and thereby everything sealed under it.
//!
//! Records are never changed, so all hashes stay valid and the journal still verifies. The sealed
//! content can no longer be decrypted. The journal's own stream records who requested the erasure
//! and why before the key is deleted, and the deletion afterwards.
//!
//! A held session is not erased. The check of the holds, the request and the deletion are under one
//! lock, under which holds are placed, too. So a hold that is on record before the key is deleted
//! prevents the deletion, also that of an erasure that was interrupted after its request.

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
        // A key that cannot be unwrapped is still a key and is deleted, too.
        let has_key = self.has_key(session).await?;
        if has_key {
            let open = self.journal().open_work_of(session.0).await;
            let mut open = open.map_err(Error::from)?;
            let waits =
                |kind: &str| kind != OpenKind::Session.as_str() && kind != OpenKind::Pause.as_str();
            open.retain(|it| waits(&it.kind));
            let items = open.len();
            if items > 0 {
                return Err(EraseError::WorkOpen { session, items });
            }
            self.expect_not_held(session).await?;
        }
        let begun = self.erasures().await?.remove(&session);
        let requested = match begun {
            Some(done) if done.erased.is_some() && !has_key => return Ok(done),
            Some(begun) if begun.erased.is_none() => begun.requested,
            // The key exists again, for example in a restored key store.
            Some(_) | None if has_key => {
                let reason = reason.to_owned();
                let body = Requested {
                    session,
                    by,
                    reason,
                };
                self.note(session, REQUESTED, &body, now).await?
            }
            Some(_) | None => return Err(EraseError::NoKey { session }),
        };
        keys.erase(session.0).await.map_err(Error::from)?;
        // The snapshot cannot be decrypted without the key.
        let journal = self.journal();
        if let Err(error) = journal.keep_snapshot(session.0, Vec::new()).await {
            tracing::debug!(%session, %error, "its snapshot stays, sealed");
        }
        let body = Erased {
            session,
            requested,
            found: has_key,
        };
        self.note(session, ERASED, &body, now).await?;
        let told = self.erasures().await?.remove(&session);
        Ok(told.ok_or(Error::UnknownSession { session })?)
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

    /// Appends a record to the journal's own stream.
    async fn note(
        &self,
        session: SessionId,
        kind: &str,
        body: &impl Serialize,
        now: Timestamp,
    ) -> Result<Seq, Error> {
        loop {
            let head = self.own_head().await?;
            let about = (session, ActorKind::Person);
            let appended = self.append_own(head, about, (kind, body), now).await?;
            // Otherwise another writer appended to this stream.
            if let Some(seq) = appended {
                return Ok(seq);
            }
        }
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
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use std::sync::Arc;

    use recount_journal::seal::{self, KeyStore, MemoryKeyStore, SessionKey};
    use recount_journal::{
        Append, Draft, Hash, Journal, MemoryJournal, OpenItem, WorkChange, block_on,
    };

    use super::*;

    const SESSION: SessionId = SessionId(Uuid::from_u128(7));

    /// A session sealed under a key from another store.
    fn ledger() -> (Ledger, Arc<MemoryKeyStore>) {
        let journal = MemoryJournal::new();
        let draft = Draft {
            session: SESSION.0,
            seq: 1,
            at_us: 5,
            kind: "session_opened",
            cause: None,
            actor: recount_journal::Actor::new("engine"),
            body: "{}",
            prev: Hash::ZERO,
        };
        let key = SessionKey::generate(SESSION.0).unwrap();
        let line = seal::line(&key, &draft, &[]).unwrap();
        block_on(journal.append(Append::new(SESSION.0, 0, vec![line]))).unwrap();
        let keys = Arc::new(MemoryKeyStore::default());
        let ledger = Ledger::new(Arc::new(journal)).with_keys(Arc::clone(&keys) as _);
        (ledger, keys)
    }

    fn erase(ledger: &Ledger, name: &str, at: i64) -> Result<Erasure, EraseError> {
        let by = Actor::embedder(name);
        block_on(ledger.erase(SESSION, by, "ticket 17", Timestamp(at)))
    }

    #[test]
    fn erasure_is_recorded_once_and_returned_again() {
        let (ledger, keys) = ledger();
        assert!(matches!(
            erase(&ledger, "ada", 10),
            Err(EraseError::NoKey { .. })
        ));
        block_on(keys.create_key(SESSION.0)).unwrap();
        let unsaid = block_on(ledger.erase(SESSION, Actor::embedder("ada"), " ", Timestamp(1)));
        assert!(matches!(unsaid, Err(EraseError::NoReason)));
        assert!(block_on(ledger.erasures()).unwrap().is_empty());
        block_on(keys.keep(SESSION.0, "resumption", "sealed")).unwrap();
        block_on(keys.create_key(Uuid::from_u128(8))).unwrap();

        let erased = erase(&ledger, "ada", 20).unwrap();
        assert_eq!((erased.requested, erased.erased), (Seq(1), Some(Seq(2))));
        assert_eq!(
            (erased.by.name.as_str(), erased.reason.as_str()),
            ("ada", "ticket 17")
        );
        assert!(block_on(keys.key(SESSION.0)).unwrap().is_none());
        assert_eq!(block_on(keys.kept(SESSION.0, "resumption")).unwrap(), None);
        assert!(block_on(keys.key(Uuid::from_u128(8))).unwrap().is_some());
        let seen = |after| block_on(ledger.erased_after(Seq(after))).unwrap();
        assert_eq!(seen(0), (vec![SESSION], Seq(2)));
        assert_eq!(seen(2), (vec![], Seq(2)));
        assert_eq!(erase(&ledger, "bob", 30).unwrap(), erased);

        // The key store was restored from an earlier copy.
        block_on(keys.create_key(SESSION.0)).unwrap();
        let again = erase(&ledger, "bob", 40).unwrap();
        assert_eq!((again.requested, again.by.name.as_str()), (Seq(3), "bob"));
    }

    #[test]
    fn interrupted_erasure_is_completed() {
        for key_was_gone in [false, true] {
            let (ledger, keys) = ledger();
            block_on(keys.create_key(SESSION.0)).unwrap();
            let requested = Requested {
                session: SESSION,
                by: Actor::embedder("ada"),
                reason: "ticket 17".to_owned(),
            };
            block_on(ledger.note(SESSION, REQUESTED, &requested, Timestamp(10))).unwrap();
            if key_was_gone {
                block_on(keys.erase(SESSION.0)).unwrap();
            } else {
                // A confirmation request is open in the meantime.
                set_waiting(&ledger, true);
                assert!(matches!(
                    erase(&ledger, "bob", 15),
                    Err(EraseError::WorkOpen { items: 1, .. })
                ));
                set_waiting(&ledger, false);
            }
            let erased = erase(&ledger, "bob", 20).unwrap();
            assert_eq!(erased.by.name, "ada");
            assert!(erased.erased > Some(erased.requested));
            assert!(block_on(keys.key(SESSION.0)).unwrap().is_none());
        }
    }

    /// Adds or removes an open request. The index alone holds open work, so the record's kind is
    /// irrelevant.
    fn set_waiting(ledger: &Ledger, waits: bool) {
        let journal = ledger.journal();
        let head = block_on(journal.head(SESSION.0)).unwrap().unwrap();
        let line = Draft {
            session: SESSION.0,
            seq: head.seq + 1,
            at_us: head.at_us,
            kind: "noted",
            cause: None,
            actor: recount_journal::Actor::new("journal"),
            body: "{}",
            prev: head.hash,
        }
        .line();
        let mut append = Append::new(SESSION.0, head.seq, vec![line]);
        append.open_work = vec![if waits {
            WorkChange::Put(OpenItem {
                session: SESSION.0,
                item: 1,
                kind: OpenKind::Confirmation.as_str().to_owned(),
                since_us: 5,
                deadline_us: None,
                request: None,
                flags: 0,
            })
        } else {
            WorkChange::Remove {
                session: SESSION.0,
                item: 1,
            }
        }];
        block_on(journal.append(append)).unwrap();
    }
}
