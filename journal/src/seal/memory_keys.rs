//! A key store in memory.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use super::{Error, KeyStore, SessionKey};
use crate::BoxFuture;

/// A key store in memory, for tests and for journals in memory.
///
/// ```
/// use recount_journal::block_on;
/// use recount_journal::seal::{KeyStore, MemoryKeyStore};
/// use uuid::Uuid;
///
/// let keys = MemoryKeyStore::default();
/// assert!(block_on(keys.key(Uuid::from_u128(7)))?.is_none());
/// let key = block_on(keys.create_key(Uuid::from_u128(7)))?;
/// assert_eq!(key.session(), Uuid::from_u128(7));
/// # Ok::<(), recount_journal::seal::Error>(())
/// ```
#[derive(Default)]
pub struct MemoryKeyStore {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    keys: BTreeMap<Uuid, SessionKey>,
    kept: BTreeMap<(Uuid, &'static str), String>,
}

impl MemoryKeyStore {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Both maps are consistent between any two statements, so a panic elsewhere does not spoil
        // them.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeyStore for MemoryKeyStore {
    fn key(&self, session: Uuid) -> BoxFuture<'_, Result<Option<SessionKey>, Error>> {
        let key = self.lock().keys.get(&session).cloned();
        Box::pin(async { Ok(key) })
    }

    fn has_key(&self, session: Uuid) -> BoxFuture<'_, Result<bool, Error>> {
        let has_key = self.lock().keys.contains_key(&session);
        Box::pin(async move { Ok(has_key) })
    }

    fn create_key(&self, session: Uuid) -> BoxFuture<'_, Result<SessionKey, Error>> {
        Box::pin(async move {
            let mut inner = self.lock();
            if let Some(key) = inner.keys.get(&session) {
                return Ok(key.clone());
            }
            let key = SessionKey::generate(session)?;
            inner.keys.insert(session, key.clone());
            Ok(key)
        })
    }

    fn keep<'a>(
        &'a self,
        session: Uuid,
        name: &'static str,
        sealed: &'a str,
    ) -> BoxFuture<'a, Result<(), Error>> {
        self.lock().kept.insert((session, name), sealed.to_owned());
        Box::pin(async { Ok(()) })
    }

    fn kept(
        &self,
        session: Uuid,
        name: &'static str,
    ) -> BoxFuture<'_, Result<Option<String>, Error>> {
        let kept = self.lock().kept.get(&(session, name)).cloned();
        Box::pin(async { Ok(kept) })
    }

    fn discard(&self, session: Uuid, name: &'static str) -> BoxFuture<'_, Result<(), Error>> {
        self.lock().kept.remove(&(session, name));
        Box::pin(async { Ok(()) })
    }

    fn erase(&self, session: Uuid) -> BoxFuture<'_, Result<(), Error>> {
        let mut inner = self.lock();
        inner.keys.remove(&session);
        inner.kept.retain(|(of, _), _| *of != session);
        Box::pin(async { Ok(()) })
    }
}

impl fmt::Debug for MemoryKeyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryKeyStore").finish_non_exhaustive()
    }
}
