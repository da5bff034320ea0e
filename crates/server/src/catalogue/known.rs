//! The first record of each session, kept in memory: it never changes.
//!
//! The content of a sealed session ends with its key. So its entry is only used while the key store
//! has the key, and it is dropped with the record of the erasure.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use recount::ledger::{Error, Ledger};
use recount::session::{Event, Observation, Seq, SessionId, SessionOpened, Timestamp};

use super::asked::Asked;

/// The maximum number of sessions in memory, about 50 MB. The oldest one is read again if needed.
const KNOWN_MAX: usize = 100_000;

/// A session by its first record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    /// The time of the first record.
    pub(crate) opened_at: Timestamp,
    /// The first record. `None` if the session is sealed and its key is not here, or if this
    /// program cannot read the record.
    pub(crate) opened: Option<SessionOpened>,
    /// True if the records are sealed.
    pub(super) is_sealed: bool,
}

impl Known {
    /// The agent. `None` if it is sealed.
    pub(crate) fn agent(&self) -> Option<&str> {
        self.opened.as_ref().map(|it| it.agent.as_str())
    }
}

/// The sessions of a journal.
#[derive(Clone)]
pub(crate) struct Catalogue {
    pub(super) ledger: Ledger,
    known: Arc<RwLock<BTreeMap<SessionId, Arc<Known>>>>,
    pub(super) asked: Asked,
    /// The last record of the journal's own stream that was searched for erasures.
    searched: Arc<AtomicU64>,
}

impl Catalogue {
    pub(crate) fn new(ledger: Ledger) -> Catalogue {
        Catalogue {
            ledger,
            known: Arc::default(),
            asked: Asked::default(),
            searched: Arc::default(),
        }
    }

    /// Returns a session. `None` if the journal has no such session.
    pub(crate) async fn session(&self, id: SessionId) -> Result<Option<Arc<Known>>, Error> {
        self.session_if(id, |_| true).await
    }

    /// Returns a session if it fits.
    ///
    /// A session without its key must not fit more than the same session with it: the key is only
    /// looked for if the entry in memory fits.
    pub(crate) async fn session_if(
        &self,
        id: SessionId,
        fits: impl Fn(&Known) -> bool,
    ) -> Result<Option<Arc<Known>>, Error> {
        let found = match self.kept(id) {
            Some(kept) if !fits(&kept) => return Ok(None),
            Some(kept) if self.is_current(id, &kept).await? => return Ok(Some(kept)),
            Some(_) => {
                self.drop_kept(id);
                self.read(id).await?
            }
            None => self.read(id).await?,
        };
        Ok(found.filter(|it| fits(it)))
    }

    /// True if the entry is as the records are now: a key may be erased at any time, and restored.
    async fn is_current(&self, id: SessionId, known: &Known) -> Result<bool, Error> {
        Ok(!known.is_sealed || self.ledger.has_key(id).await? == known.opened.is_some())
    }

    async fn read(&self, id: SessionId) -> Result<Option<Arc<Known>>, Error> {
        // The journal's own stream has the nil id and is not a session.
        if id.0.is_nil() {
            return Ok(None);
        }
        let Some(first) = self.ledger.entries(id, Seq(1), 1).await?.pop() else {
            return Ok(None);
        };
        let opened_at = first.at();
        let opened = match first.fact().map(|fact| fact.event) {
            Ok(Event::Observed(Observation::SessionOpened(opened))) => Some(opened),
            Ok(Event::Observed(_) | Event::Decided(_)) => return Ok(None),
            // Of a session that cannot be read, no more is known than of a sealed one.
            Err(error) if error.is_of_one_session() => None,
            Err(error) => return Err(error),
        };
        let session = Arc::new(Known {
            opened_at,
            opened,
            is_sealed: first.is_sealed(),
        });
        self.keep(id, session.clone());
        // An erasure between the read and here found nothing to drop.
        if !self.is_current(id, &session).await? {
            self.drop_kept(id);
        }
        Ok(Some(session))
    }

    /// Drops the content of sessions whose erasure was recorded since the last search.
    ///
    /// It is for the memory alone, since each use looks for the key. So it is not part of every
    /// request: like all lookups of the journal, it waits for the appends before it.
    pub(crate) async fn drop_erased(&self) -> Result<(), Error> {
        let searched = Seq(self.searched.load(Ordering::Acquire));
        let (erased, last) = self.ledger.erased_after(searched).await?;
        for session in erased {
            self.drop_kept(session);
        }
        // Moved last, so that no other request takes the records for searched before that.
        self.searched.fetch_max(last.0, Ordering::AcqRel);
        Ok(())
    }

    /// Drops the content of a session.
    pub(super) fn drop_kept(&self, id: SessionId) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.remove(&id);
        drop(known);
        self.asked.drop_all_of(id);
    }

    pub(super) fn kept(&self, id: SessionId) -> Option<Arc<Known>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&id).cloned()
    }

    fn keep(&self, id: SessionId, session: Arc<Known>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN_MAX {
            // Ids begin with the time of the session.
            known.pop_first();
        }
        known.insert(id, session);
    }
}
