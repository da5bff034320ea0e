//! A batch that the disk had no room for, appended as soon as it has.

use recount_journal::{Durability, Error as JournalError, seal};

use crate::engine::error::Error;
use crate::engine::task::parts::Stream;
use crate::engine::task::patient_journal::PAUSE;
use crate::ledger::{self, Objects, Tail};
use crate::session::{Fact, OpenWork, Seq};

impl Stream {
    /// Appends a batch that the disk had no room for, as soon as it has.
    ///
    /// # Errors
    /// The refusal itself, where the session has no record yet or the engine shuts down; whatever
    /// else the journal says.
    pub(super) async fn append_again(
        &mut self,
        refused: ledger::Error,
        facts: &[Fact],
        open_before: &[(Seq, OpenWork)],
        objects: Objects,
        durability: Durability,
    ) -> Result<Tail, Error> {
        if !is_full(&refused) || self.tail == Tail::EMPTY {
            return Err(refused.into());
        }
        let session = self.session.id;
        tracing::warn!(%session, %refused, "the session waits for room on the disk");
        let (mut refused, mut pause) = (refused, PAUSE);
        while self.room.pause(&mut pause).await {
            let append = self.ledger.append(
                self.tail,
                &self.seal,
                &self.session,
                facts,
                open_before,
                objects.clone(),
                durability,
            );
            match append.await {
                Ok(tail) => {
                    tracing::info!(%session, "there is room again, and the session goes on");
                    return Ok(tail);
                }
                Err(error) if is_full(&error) => refused = error,
                Err(error) => return Err(error.into()),
            }
        }
        Err(refused.into())
    }

    /// The key of the session, made as soon as the disk has room for it.
    pub(in crate::engine) async fn create_key(&self) -> Result<seal::SessionKey, Error> {
        let mut pause = PAUSE;
        loop {
            match self.ledger.create_key(self.session.id).await {
                Err(error) if is_full(&error) && self.tail != Tail::EMPTY => {
                    if !self.room.pause(&mut pause).await {
                        return Err(error.into());
                    }
                }
                created => return Ok(created?),
            }
        }
    }
}

/// True if the disk of the journal, or of the key store, had no room.
fn is_full(error: &ledger::Error) -> bool {
    use std::io::ErrorKind;
    match error {
        ledger::Error::Journal(JournalError::NoSpace { .. }) => true,
        ledger::Error::Seal(seal::Error::Io { source, .. }) => {
            matches!(
                source.kind(),
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded
            )
        }
        _ => false,
    }
}
