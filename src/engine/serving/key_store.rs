//! The key store of a journal that several processes write: all must have the same one.

use std::sync::Arc;

use recount_journal::Sharing;
use recount_journal::seal::{self, KeyStore};
use uuid::Uuid;

use super::engine::Engine;
use crate::engine::error::Error;
use crate::ledger;

impl Engine {
    /// Checks that this process has the key store of the others, before it opens a session.
    ///
    /// The first process with a key store makes a key there, and notes its id in the journal. A
    /// store without that key is another one, and what it seals is unreadable for the others. A
    /// process without a store starts, with an error in the log: where keys are introduced, the
    /// processes of before go on until they are replaced.
    pub(in crate::engine) async fn check_key_store(&self) -> Result<(), Error> {
        let ledger = &self.inner.ledger;
        let Some(sharing) = ledger.journal().sharing() else {
            return Ok(());
        };
        let noted = sharing.key_mark(None).await?;
        let Some(keys) = ledger.keys() else {
            if noted.is_some() {
                tracing::error!(
                    "other processes of this journal seal sessions with a key store, and this one \
                     has none: it opens sessions unsealed, and does not go on with sealed ones"
                );
            }
            return Ok(());
        };
        let mark = match noted {
            Some(mark) => mark,
            None => self.note_key_store(sharing, keys).await?,
        };
        expect(keys, mark).await
    }

    /// Notes the store of this process as that of the journal, unless another process is faster.
    /// Returns the id of the key that the store must have.
    async fn note_key_store(
        &self,
        sharing: &dyn Sharing,
        keys: &Arc<dyn KeyStore>,
    ) -> Result<Uuid, Error> {
        if let Some(sealed) = self.inner.ledger.sealed_session().await? {
            expect(keys, sealed.0).await?;
        }
        let own = Uuid::new_v4();
        // The key is durable before another process looks for it.
        keys.create_key(own).await.map_err(ledger::Error::Seal)?;
        let first = sharing.key_mark(Some(own)).await?.unwrap_or(own);
        if first == own {
            tracing::info!("the key store of this process is that of the journal from now on");
        } else {
            keys.erase(own).await.map_err(ledger::Error::Seal)?;
        }
        Ok(first)
    }
}

/// Checks that a store has a key.
async fn expect(keys: &Arc<dyn KeyStore>, id: Uuid) -> Result<(), Error> {
    match keys.key(id).await {
        Ok(Some(_)) => Ok(()),
        Ok(None) | Err(seal::Error::DoesNotOpen { .. }) => {
            Err(Error::OtherKeyStore { missing: id })
        }
        Err(error) => Err(ledger::Error::Seal(error).into()),
    }
}
