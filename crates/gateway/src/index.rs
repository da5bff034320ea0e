//! The index of the gateway's sessions, shared by its connections.

use recount::journal::causes;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use recount::engine::{Clock, SystemClock};
use recount::session::SessionId;
use tokio::sync::watch;

use crate::places::{PlaceKey, PlaceLimits, Places};

/// The maximum number of entries, about 130 bytes each.
const ENTRIES_MAX: usize = 100_000;

/// The longest time between two processes after which the sessions of the first are still known.
const AWAY_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The id of a session, once it is open.
pub(crate) type Opening = watch::Receiver<Option<SessionId>>;

/// The number of sessions with keys that may be opened at the same time.
const TURNS: usize = 64;

/// The index, with the clock of its entries.
pub(crate) struct Index {
    places: Mutex<Places>,
    opening: Mutex<Openings>,
    clock: std::sync::Arc<dyn Clock>,
    /// Each is held by a connection that opens its session under one of some keys.
    turns: [tokio::sync::Mutex<()>; TURNS],
}

/// The sessions that are being opened.
#[derive(Default)]
struct Openings {
    /// Their keys.
    keys: HashMap<PlaceKey, Opening>,
    /// The sessions that those with a known key will most likely continue.
    presumed: Vec<(Opening, SessionId)>,
}

impl Openings {
    /// Returns the session, or the one that it will most likely continue.
    fn session_of(&self, session: &Opening) -> Option<SessionId> {
        let known = *session.borrow();
        let mut presumed = self.presumed.iter();
        let presumed = presumed.find(|(it, _)| session.same_channel(it));
        known.or(presumed.map(|(_, id)| *id))
    }
}

impl Index {
    /// Opens the index, in memory alone if there is no file.
    pub(crate) fn open(file: Option<&Path>, keep: Duration) -> std::io::Result<Index> {
        let clock = SystemClock::shared();
        let limits = PlaceLimits {
            // Longer than a process may be away, so that the next one still closes its sessions.
            keep: keep.saturating_add(AWAY_MAX),
            entries: ENTRIES_MAX,
        };
        let file = file.map(Path::to_path_buf);
        let (places, read) = Places::open(file, limits, clock.now())?;
        if read.damaged > 0 {
            let lines = read.damaged;
            tracing::warn!(
                lines,
                "the index of sessions has damaged lines, which are dropped"
            );
        }
        Ok(Index {
            places: Mutex::new(places),
            opening: Mutex::default(),
            turns: std::array::from_fn(|_| tokio::sync::Mutex::new(())),
            clock,
        })
    }

    /// Waits until no other connection opens a session under the first of these keys.
    pub(crate) async fn turn(&self, keys: &[PlaceKey]) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        let lock = self.turns.get(keys.first()?.part_of(TURNS))?;
        Some(lock.lock().await)
    }

    /// Returns the session of a key. Waits for a session that is being opened.
    pub(crate) async fn find(&self, key: PlaceKey) -> Option<SessionId> {
        let opening = self.opening().keys.get(&key).cloned();
        if let Some(mut opening) = opening {
            let opened = opening.wait_for(Option::is_some).await;
            return opened.ok().and_then(|it| *it);
        }
        self.known(key)
    }

    /// Returns the session of a key, if it is open.
    pub(crate) fn known(&self, key: PlaceKey) -> Option<SessionId> {
        let now = self.clock.now();
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.get(key, now)
    }

    /// True if the key leads to a session, perhaps one that is being opened.
    pub(crate) fn has(&self, key: PlaceKey) -> bool {
        self.opening().keys.contains_key(&key) || self.known(key).is_some()
    }

    /// Returns the session to which a key most likely leads. Does not wait for one that is being
    /// opened.
    pub(crate) fn presumed(&self, key: PlaceKey) -> Option<SessionId> {
        let opening = self.opening();
        match opening.keys.get(&key) {
            Some(session) => opening.session_of(session),
            None => {
                drop(opening);
                self.known(key)
            }
        }
    }

    fn opening(&self) -> MutexGuard<'_, Openings> {
        // Each change is one step, so a panic elsewhere leaves a whole table.
        self.opening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a session is being opened for a client with these keys.
    ///
    /// It most likely continues the session of a known key. Keys that the client gets meanwhile
    /// lead there at once: a kill before the session is open would otherwise lose them, and with
    /// them the calls that are held.
    pub(crate) fn presume(&self, session: &Opening, keys: &[PlaceKey]) {
        if let Some(known) = keys.iter().find_map(|it| self.known(*it)) {
            self.opening().presumed.push((session.clone(), known));
        }
    }

    /// Puts a key of a session that is perhaps not open yet. One that cannot be opened has no keys.
    pub(crate) fn expect(&self, key: PlaceKey, session: &Opening) {
        let mut opening = self.opening();
        let is_open = session.borrow().is_some();
        let is_being_opened = !is_open && session.has_changed().is_ok();
        if is_being_opened {
            opening.keys.insert(key, session.clone());
        }
        if let Some(session) = opening.session_of(session) {
            self.put(key, session);
        }
    }

    /// Puts the keys of a session that is open now, or forgets those of one that was not opened.
    pub(crate) fn settle(&self, session: &watch::Sender<Option<SessionId>>, id: Option<SessionId>) {
        let mut opening = self.opening();
        session.send_replace(id);
        let is_of = |it: &Opening| session.subscribe().same_channel(it);
        opening.presumed.retain(|(it, _)| !is_of(it));
        let keys: Vec<PlaceKey> = opening
            .keys
            .iter()
            .filter_map(|(key, it)| is_of(it).then_some(*key))
            .collect();
        for key in keys {
            opening.keys.remove(&key);
            if let Some(id) = id {
                self.put(key, id);
            }
        }
    }

    /// The sessions of all entries.
    pub(crate) fn sessions(&self) -> Vec<SessionId> {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.sessions().collect()
    }

    pub(crate) fn put(&self, key: PlaceKey, session: SessionId) {
        let now = self.clock.now();
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = places.put(key, session, now) {
            tracing::warn!(
                error = %causes(&error),
                "a session is not found by its handle after a restart"
            );
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;
    use recount::session::ResumptionHandle;

    fn handle(text: &str) -> PlaceKey {
        PlaceKey::of_handle("ada", &ResumptionHandle::new(text.to_owned()))
    }

    fn session(number: u128) -> SessionId {
        SessionId(uuid::Uuid::from_u128(number))
    }

    #[test]
    fn handle_of_a_session_that_is_being_opened_survives_a_kill() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("index");
        let open = || Index::open(Some(&file), Duration::from_secs(60)).unwrap();
        let killed = open();
        killed.put(handle("first"), session(1));
        let (_opens, opening) = watch::channel(None);
        killed.presume(&opening, &[handle("first")]);
        killed.expect(handle("second"), &opening);
        assert_eq!(open().known(handle("second")), Some(session(1)));
    }

    #[test]
    fn session_that_is_opened_in_place_of_another_has_the_handle() {
        let index = Index::open(None, Duration::from_secs(60)).unwrap();
        index.put(handle("first"), session(1));
        let (opens, opening) = watch::channel(None);
        index.presume(&opening, &[handle("first")]);
        index.expect(handle("second"), &opening);
        index.settle(&opens, Some(session(2)));
        assert_eq!(index.known(handle("second")), Some(session(2)));
        // The next one is not taken for it.
        index.expect(handle("third"), &opening);
        assert_eq!(index.known(handle("third")), Some(session(2)));
    }

    #[test]
    fn handle_without_a_session_leads_nowhere() {
        let index = Index::open(None, Duration::from_secs(60)).unwrap();
        let (opens, opening) = watch::channel(None);
        index.presume(&opening, &[handle("unknown")]);
        index.expect(handle("first"), &opening);
        assert_eq!(index.known(handle("first")), None);
        index.settle(&opens, None);
        assert_eq!(index.known(handle("first")), None);
        // The connection goes on without a session, and gets further handles.
        drop(opens);
        index.expect(handle("second"), &opening);
        assert!(index.opening().keys.is_empty());
    }
}
