//! The checkpoints on record.

use recount_journal::{Error, Journal};
use uuid::Uuid;

use crate::checkpoint::Checkpoint;
use crate::following::{CHECKPOINT_SIGNED, SignedCheckpoint};
use crate::note::Note;

/// The number of records that are read at a time.
const PAGE: usize = 1_000;

/// A checkpoint on record. Its signatures and its root were not checked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Recorded {
    /// The record, in the journal's own stream.
    pub seq: u64,
    /// The time of the record, in microseconds since 1970.
    pub at_us: i64,
    /// The content of the note.
    pub checkpoint: Checkpoint,
    /// The signed note.
    pub note: Note,
}

/// Reads the checkpoints in a journal's own stream, oldest first. A record that is none is passed
/// over.
///
/// ```
/// use recount_journal::{MemoryJournal, block_on};
/// let found = block_on(recount_evidence::on_record(&MemoryJournal::new()))?;
/// assert!(found.is_empty());
/// # Ok::<(), recount_journal::Error>(())
/// ```
///
/// # Errors
/// The errors of reading the journal.
pub async fn on_record(journal: &dyn Journal) -> Result<Vec<Recorded>, Error> {
    recorded_after(journal, 0).await
}

/// Reads the checkpoints behind a record of a journal's own stream.
pub(crate) async fn recorded_after(
    journal: &dyn Journal,
    seq: u64,
) -> Result<Vec<Recorded>, Error> {
    let (mut found, mut next) = (Vec::new(), seq + 1);
    loop {
        let page = journal.read(Uuid::nil(), next, PAGE).await?;
        if page.is_empty() {
            return Ok(found);
        }
        next += page.len() as u64;
        for line in &page {
            let Ok(record) = line.record() else { continue };
            if record.kind != CHECKPOINT_SIGNED {
                continue;
            }
            let body = serde_json::from_str::<SignedCheckpoint>(record.body.get()).ok();
            let note = body.and_then(|body| body.note.parse::<Note>().ok());
            if let Some(note) = note
                && let Ok(checkpoint) = Checkpoint::of(&note)
            {
                found.push(Recorded {
                    seq: record.seq,
                    at_us: record.at_us,
                    checkpoint,
                    note,
                });
            }
        }
    }
}
