//! The key store of a journal that several processes write: all must have the same one.

use std::sync::Arc;

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
    /// process without a store is warned about alone: where keys are introduced, the processes of
    /// before go on until they are replaced.
    pub(in crate::engine) async fn check_key_store(&self) -> Result<(), Error> {
        let ledger = &self.inner.ledger;
        let Some(sharing) = ledger.journal().sharing() else {
            return Ok(());
        };
        let noted = sharing.key_mark(None).await?;
        let mark = match (ledger.keys(), noted) {
            (None, None) => return Ok(()),
            (None, Some(_)) => {
                tracing::error!(
                    "other processes of this journal seal sessions with a key store, and this one \
                     has none: it opens sessions unsealed, and does not go on with sealed ones"
                );
                return Ok(());
            }
            (Some(_), Some(mark)) => mark,
            (Some(keys), None) => self.mark(keys).await?,
        };
        match ledger.keys() {
            Some(keys) => expect(keys, mark).await,
            None => Ok(()),
        }
    }

    /// Makes the store of this process that of the journal, unless another process is faster.
    async fn mark(&self, keys: &Arc<dyn KeyStore>) -> Result<Uuid, Error> {
        let ledger = &self.inner.ledger;
        if let Some(sealed) = ledger.sealed_session().await? {
            expect(keys, sealed.0).await?;
        }
        let own = Uuid::new_v4();
        // The key is durable before another process looks for it.
        keys.create_key(own).await.map_err(ledger::Error::Seal)?;
        let Some(sharing) = ledger.journal().sharing() else {
            return Ok(own);
        };
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
