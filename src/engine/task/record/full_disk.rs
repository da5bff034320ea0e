//! Retry of a batch for which the disk had no room.

use recount_journal::{Error as JournalError, seal};

use crate::engine::error::Error;
use crate::engine::task::parts::Stream;
use crate::engine::task::retrying_journal::{PAUSE, SpaceWait};
use crate::ledger::{self, Batch, Ledger, Seal, Tail};

/// Repeats the append of a whole batch until the disk has room for it. The batch may be the outcome
/// of another process's request.
///
/// # Errors
/// The refusal itself, if the session has no record yet or the engine shuts down. Any other error
/// of the journal.
pub(super) async fn append_again(
    refused: ledger::Error,
    (ledger, room): (&Ledger, &SpaceWait),
    (tail, seal): (Tail, &Seal),
    batch: Batch<'_>,
) -> Result<Tail, Error> {
    if !is_full(&refused) || tail == Tail::EMPTY {
        return Err(refused.into());
    }
    let session = batch.session.id;
    tracing::warn!(%session, %refused, "the session waits for room on the disk");
    let (mut refused, mut pause) = (refused, PAUSE);
    while room.pause(&mut pause).await {
        match ledger.append_batch(tail, seal, batch.clone()).await {
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

impl Stream {
    /// Creates the key of the session, waiting for disk space.
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

/// True if the disk of the journal or of the key store was full.
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
