//! The sealing of a session's records, and of the session's texts in the key store.

use recount_journal::seal::SessionKey;
use recount_journal::{Hash, Object};

use super::store::Objects;
use super::{Error, Ledger};
use crate::session::{Catalog, ObjectHash, PolicySet, ResumptionHandle, SessionId};

/// The way in which the records of a session are written. It never changes during a session.
#[derive(Clone, Debug, Default)]
pub struct Seal {
    /// The session's key, if it has one and the key store is available.
    pub key: Option<SessionKey>,
    /// True if bodies and objects are sealed, and not only secret values.
    pub bodies: bool,
}

impl Seal {
    /// Returns the key if bodies are sealed.
    pub(super) fn of_bodies(&self, session: SessionId) -> Result<Option<&SessionKey>, Error> {
        match (self.bodies, &self.key) {
            (false, _) => Ok(None),
            (true, Some(key)) => Ok(Some(key)),
            // A sealed session must never be recorded in clear.
            (true, None) => Err(Error::Sealed { session }),
        }
    }

    /// Returns a runner's catalog and policies as objects, and the hashes by which records name
    /// them.
    ///
    /// # Errors
    /// [`Error::Sealed`] if the session is sealed and its key is not available.
    pub fn terms(
        &self,
        session: SessionId,
        catalog: &Catalog,
        policies: &PolicySet,
    ) -> Result<(Objects, [ObjectHash; 2]), Error> {
        let key = self.of_bodies(session)?;
        let object = |content: Vec<u8>| match key {
            Some(key) => key.seal_object(&content).map_err(Error::Seal),
            None => Ok(Object::new(content)),
        };
        let catalog = object(catalog.to_bytes())?;
        let policies = object(policies.to_bytes())?;
        let address = |it: &Object| ObjectHash::from_bytes(*it.hash.as_bytes());
        let addresses = [address(&catalog), address(&policies)];
        Ok((Objects::new(vec![catalog, policies]), addresses))
    }
}

/// Converts the hashes that a record names to the journal's type.
pub(super) fn addresses(named: &[ObjectHash]) -> Vec<Hash> {
    named
        .iter()
        .map(|it| Hash::from_bytes(*it.as_bytes()))
        .collect()
}

/// The name of a session's resumption handle in the key store, and the place for which it is
/// sealed.
const RESUMPTION: &str = "resumption";

impl Ledger {
    /// Returns the key of a session. `None` without a key or a key store.
    ///
    /// # Errors
    /// The error of a key store that cannot be read.
    pub async fn key(&self, session: SessionId) -> Result<Option<SessionKey>, Error> {
        match self.keys() {
            Some(keys) => Ok(keys.key(session.0).await?),
            None => Ok(None),
        }
    }

    /// Returns true if the session has a key here, whether or not the key can be used.
    ///
    /// # Errors
    /// The error of a key store that cannot be read.
    #[doc(hidden)]
    pub async fn has_key(&self, session: SessionId) -> Result<bool, Error> {
        match self.keys() {
            Some(keys) => Ok(keys.has_key(session.0).await?),
            None => Ok(false),
        }
    }

    /// Returns the key of a session. Creates the key if the session has none.
    ///
    /// # Errors
    /// [`Error::NoKeyStore`], or the error of a key store that cannot be written.
    pub async fn create_key(&self, session: SessionId) -> Result<SessionKey, Error> {
        let keys = self.keys().ok_or(Error::NoKeyStore { session })?;
        Ok(keys.create_key(session.0).await?)
    }

    /// Stores the resumption handle of the session's conversation, sealed, in the key store. Does
    /// nothing for a session whose key was erased.
    ///
    /// # Errors
    /// [`Error::NoKeyStore`], or the error of a key store that cannot be written.
    pub async fn keep_resumption_handle(
        &self,
        session: SessionId,
        handle: &ResumptionHandle,
    ) -> Result<(), Error> {
        let keys = self.keys().ok_or(Error::NoKeyStore { session })?;
        let key = if self.is_sealed(session).await? {
            // The key was erased, and a new key could not decrypt anything.
            match keys.key(session.0).await? {
                Some(key) => key,
                None => return Ok(()),
            }
        } else {
            keys.create_key(session.0).await?
        };
        let sealed = key.seal_text(RESUMPTION, handle.reveal())?;
        Ok(keys.keep(session.0, RESUMPTION, &sealed).await?)
    }

    /// Returns the resumption handle that was stored last.
    ///
    /// The session's last `resumption_handle_received` has its fingerprint and expiry. They differ
    /// if the process crashed after that record and before the handle was stored.
    ///
    /// ```
    /// # async fn example(
    /// #     ledger: recount::ledger::Ledger,
    /// #     session: recount::session::SessionId,
    /// # ) -> Result<(), recount::ledger::Error> {
    /// if let Some(handle) = ledger.resumption_handle(session).await? {
    ///     println!("resumable with {}", handle.fingerprint());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The error of a key store that cannot be read, or of a handle that cannot be decrypted.
    pub async fn resumption_handle(
        &self,
        session: SessionId,
    ) -> Result<Option<ResumptionHandle>, Error> {
        let Some(keys) = self.keys() else {
            return Ok(None);
        };
        let (Some(key), Some(sealed)) = (
            keys.key(session.0).await?,
            keys.kept(session.0, RESUMPTION).await?,
        ) else {
            return Ok(None);
        };
        let handle = key.open_text(RESUMPTION, &sealed)?;
        Ok(Some(ResumptionHandle::new(handle.as_str())))
    }

    /// Deletes the resumption handle after the conversation has ended.
    ///
    /// # Errors
    /// The error of a key store that cannot be written.
    pub async fn discard_resumption_handle(&self, session: SessionId) -> Result<(), Error> {
        match self.keys() {
            Some(keys) => Ok(keys.discard(session.0, RESUMPTION).await?),
            None => Ok(()),
        }
    }
}
