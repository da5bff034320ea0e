//! The first record of each session, kept in memory: it never changes.

use std::collections::BTreeMap;
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
    /// The first record. `None` if the session is sealed and its key is not here.
    pub(crate) opened: Option<SessionOpened>,
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
}

impl Catalogue {
    pub(crate) fn new(ledger: Ledger) -> Catalogue {
        Catalogue {
            ledger,
            known: Arc::default(),
            asked: Asked::default(),
        }
    }

    /// Returns a session. `None` if the journal has no such session.
    pub(crate) async fn session(&self, id: SessionId) -> Result<Option<Arc<Known>>, Error> {
        match self.kept(id) {
            Some(found) => Ok(Some(found)),
            None => self.read(id).await,
        }
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
            Err(Error::Sealed { .. }) => None,
            Err(error) => return Err(error),
        };
        let session = Arc::new(Known { opened_at, opened });
        // The key of a sealed session may be erased at any time, and its content with it.
        if !first.is_sealed() {
            self.keep(id, session.clone());
        }
        Ok(Some(session))
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
