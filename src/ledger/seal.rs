//! How a session's records are sealed, and the texts of it that are kept sealed outside the
//! journal.

use recount_journal::seal::SessionKey;
use recount_journal::{Hash, Object};

use super::store::Objects;
use super::{Error, Ledger};
use crate::session::{Catalog, ObjectHash, PolicySet, ResumptionHandle, SessionId};

/// How the records of one session are written. It is chosen when the session begins and holds to
/// its end.
#[derive(Clone, Debug, Default)]
pub struct Seal {
    /// The session's key, where it has one and the key store is here.
    pub key: Option<SessionKey>,
    /// Whether bodies and objects are sealed, and not only what is secret by itself.
    pub bodies: bool,
}

impl Seal {
    /// The key, where bodies are sealed.
    pub(super) fn of_bodies(&self, session: SessionId) -> Result<Option<&SessionKey>, Error> {
        match (self.bodies, &self.key) {
            (false, _) => Ok(None),
            (true, Some(key)) => Ok(Some(key)),
            // Nothing of a sealed session may go on record in clear.
            (true, None) => Err(Error::Sealed { session }),
        }
    }

    /// The catalog and the policies of a runner as objects, and the addresses under which records
    /// name them.
    ///
    /// # Errors
    /// [`Error::Sealed`] where the session is sealed and its key is not here.
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

/// The addresses that a record names, as the journal spells them.
pub(super) fn addresses(named: &[ObjectHash]) -> Vec<Hash> {
    named
        .iter()
        .map(|it| Hash::from_bytes(*it.as_bytes()))
        .collect()
}

/// Under which name, and sealed for which place, the side store has a session's resumption handle.
const RESUMPTION: &str = "resumption";

impl Ledger {
    /// The key of a session; none where it has none, or no key store is here.
    ///
    /// # Errors
    /// Where the key store cannot be read.
    pub async fn key(&self, session: SessionId) -> Result<Option<SessionKey>, Error> {
        match self.keys() {
            Some(keys) => Ok(keys.key(session.0).await?),
            None => Ok(None),
        }
    }

    /// The key of a session, made where it has none.
    ///
    /// # Errors
    /// [`Error::NoKeyStore`]; where the key store cannot be written.
    pub async fn create_key(&self, session: SessionId) -> Result<SessionKey, Error> {
        let keys = self.keys().ok_or(Error::NoKeyStore { session })?;
        Ok(keys.create_key(session.0).await?)
    }

    /// Keeps the handle by which the session's conversation can be resumed, sealed, beside the
    /// journal. Of a session whose key was erased nothing is kept.
    ///
    /// # Errors
    /// [`Error::NoKeyStore`]; where the key store cannot be written.
    pub async fn keep_resumption_handle(
        &self,
        session: SessionId,
        handle: &ResumptionHandle,
    ) -> Result<(), Error> {
        let keys = self.keys().ok_or(Error::NoKeyStore { session })?;
        let key = if self.is_sealed(session).await? {
            // A key that is gone was taken away; another in its place would open nothing.
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

    /// The handle that was kept last. Its fingerprint and expiry stand in the session's last
    /// `resumption_handle_received`; where they differ, a crash came between the record and the
    /// keeping.
    ///
    /// ```
    /// # async fn example(ledger: recount::ledger::Ledger, session: recount::session::SessionId) -> Result<(), recount::ledger::Error> {
    /// if let Some(handle) = ledger.resumption_handle(session).await? {
    ///     println!("resumable with {}", handle.fingerprint());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Where the key store cannot be read, or what it kept does not open.
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

    /// Forgets the handle: the conversation has ended.
    ///
    /// # Errors
    /// Where the key store cannot be written.
    pub async fn discard_resumption_handle(&self, session: SessionId) -> Result<(), Error> {
        match self.keys() {
            Some(keys) => Ok(keys.discard(session.0, RESUMPTION).await?),
            None => Ok(()),
        }
    }
}
