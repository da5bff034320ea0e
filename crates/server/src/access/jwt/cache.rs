//! The keys of an issuer as they were fetched last, and when they are fetched anew.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use recount::session::Timestamp;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::algorithm::JwtAlgorithm;
use super::keys::KeySet;
use super::source::{KeySource, KeySourceError};

/// The age from which keys are fetched anew, so that a key that the issuer has removed ends.
pub(super) const AGE_MAX: Duration = Duration::from_secs(15 * 60);

/// The keys of an issuer.
#[derive(Clone)]
pub(super) struct KeyCache {
    shared: Arc<Shared>,
    /// The time within which the keys are fetched once at most.
    refetch_after: Duration,
}

struct Shared {
    source: Box<dyn KeySource>,
    known: Mutex<Known>,
    /// Locked while the keys are fetched.
    fetching: Arc<AsyncMutex<()>>,
}

#[derive(Clone, Default)]
struct Known {
    /// `None` before the first success.
    keys: Option<Arc<KeySet>>,
    fetched_at: Timestamp,
    tried_at: Option<Timestamp>,
}

impl KeyCache {
    pub(super) fn new(source: impl KeySource, refetch_after: Duration) -> KeyCache {
        KeyCache {
            shared: Arc::new(Shared {
                source: Box::new(source),
                known: Mutex::default(),
                fetching: Arc::default(),
            }),
            refetch_after,
        }
    }

    pub(super) fn refetch_after(self, refetch_after: Duration) -> KeyCache {
        KeyCache {
            refetch_after,
            ..self
        }
    }

    /// Fetches the keys, whatever is known so far.
    pub(super) async fn fill(&self, now: Timestamp) -> Result<(), KeySourceError> {
        self.shared.known().tried_at = Some(now);
        self.shared.fetch(now).await
    }

    /// The keys for a token with this header. Without a fitting one they are fetched anew, once at
    /// most within `refetch_after`. `None`: no keys could be fetched so far.
    pub(super) async fn for_token(
        &self,
        id: Option<&str>,
        algorithm: JwtAlgorithm,
        now: Timestamp,
    ) -> Option<Arc<KeySet>> {
        let known = self.shared.known().clone();
        let fits = |keys: &Arc<KeySet>| keys.fitting(id, algorithm).next().is_some();
        if !known.keys.as_ref().is_some_and(fits) {
            let lock = self.shared.fetching.clone().lock_owned().await;
            self.fetch(lock, now).await;
        } else if !is_within(known.fetched_at, now, AGE_MAX)
            // While another request fetches them, the old keys stay in force.
            && let Ok(lock) = self.shared.fetching.clone().try_lock_owned()
        {
            self.fetch(lock, now).await;
        }
        self.shared.known().keys.clone()
    }

    /// The keys after another fetch, for a token that none of `known` has signed: the issuer may
    /// have another key under the same id now. `None`: there are no other keys.
    pub(super) async fn newer(&self, known: &Arc<KeySet>, now: Timestamp) -> Option<Arc<KeySet>> {
        let lock = self.shared.fetching.clone().lock_owned().await;
        // Another request may have fetched them while this one waited.
        let is_other = |keys: &Arc<KeySet>| !Arc::ptr_eq(keys, known);
        let fetched = self.shared.known().keys.clone().filter(is_other);
        if fetched.is_some() {
            return fetched;
        }
        self.fetch(lock, now).await;
        self.shared.known().keys.clone().filter(is_other)
    }

    /// Fetches the keys, unless that was tried within `refetch_after`.
    async fn fetch(&self, lock: OwnedMutexGuard<()>, now: Timestamp) {
        {
            let mut known = self.shared.known();
            let within = |at| is_within(at, now, self.refetch_after);
            if known.tried_at.is_some_and(within) {
                return;
            }
            known.tried_at = Some(now);
        }
        let shared = self.shared.clone();
        let fetch = async move {
            let _lock = lock;
            if let Err(error) = shared.fetch(now).await {
                tracing::warn!(%error, "the keys of an issuer stay as they were");
            }
        };
        // A task of its own, because the client may drop its request. An aborted fetch would let it
        // keep the keys of all others from being fetched.
        let _ = tokio::spawn(fetch).await;
    }
}

impl Shared {
    async fn fetch(&self, now: Timestamp) -> Result<(), KeySourceError> {
        let keys = KeySet::parse(&self.source.fetch().await?)?;
        let mut known = self.known();
        known.keys = Some(Arc::new(keys));
        known.fetched_at = now;
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Each change is one step, so a panic elsewhere leaves whole keys.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True if the times are at most that far apart. Either may be the earlier one: requests of the
/// same moment race, and clocks are set.
fn is_within(at: Timestamp, now: Timestamp, time: Duration) -> bool {
    u128::from(at.0.abs_diff(now.0)) < time.as_micros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_of_two_times_may_be_the_earlier() {
        let within = |at, now| {
            let time = Duration::from_micros(10);
            is_within(Timestamp(at), Timestamp(now), time)
        };
        assert!(within(100, 109) && within(109, 100));
        // A clock that was set far back does not keep the keys from being fetched.
        assert!(!within(100, 110) && !within(110, 100));
    }
}
