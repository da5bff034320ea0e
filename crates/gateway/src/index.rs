//! The index of the gateway's sessions, shared by its connections.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use recount::engine::{Clock, SystemClock};
use recount::session::SessionId;
use tokio::sync::MutexGuard;

use crate::places::{PlaceKey, PlaceLimits, Places};

/// The maximum number of entries, about 130 bytes each.
const ENTRIES_MAX: usize = 100_000;

/// The longest time between two processes after which the sessions of the first are still known.
const AWAY_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The number of sessions with keys that may be opened at the same time.
const OPENING: usize = 64;

/// The index, with the clock of its entries.
pub(crate) struct Index {
    places: Mutex<Places>,
    clock: std::sync::Arc<dyn Clock>,
    /// Each is held by a connection that opens its session under one of some keys.
    opening: [tokio::sync::Mutex<()>; OPENING],
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
        let places = Mutex::new(places);
        let opening = std::array::from_fn(|_| tokio::sync::Mutex::new(()));
        Ok(Index {
            places,
            clock,
            opening,
        })
    }

    /// Waits until no other connection opens a session under the first of these keys.
    pub(crate) async fn opening(&self, keys: &[PlaceKey]) -> Option<MutexGuard<'_, ()>> {
        let lock = self.opening.get(keys.first()?.part_of(OPENING))?;
        Some(lock.lock().await)
    }

    pub(crate) fn find(&self, key: PlaceKey) -> Option<SessionId> {
        let now = self.clock.now();
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.get(key, now)
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
            tracing::warn!(%error, "a session is not found by its handle after a restart");
        }
    }
}
