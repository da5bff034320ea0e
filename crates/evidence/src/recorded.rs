//! The checkpoints on record.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recount_journal::{Error, Journal, Record};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::checkpoint::{Checkpoint, path_in};
use crate::note::Note;
use crate::time_stamp::TimeStamp;

/// The kind of the record with a checkpoint, in the journal's own stream.
pub const CHECKPOINT_SIGNED: &str = "checkpoint_signed";

/// The kind of the record with a time stamp for a checkpoint, in the journal's own stream.
pub const CHECKPOINT_TIME_STAMPED: &str = "checkpoint_time_stamped";

/// The number of records that are read at a time.
const PAGE: usize = 1_000;

/// The body of a record with a checkpoint.
///
/// ```json
/// {"size":42,"note":"example.com/journal\n42\nCsUYapGG…\n\n— example.com/journal Az3grl…\n"}
/// ```
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct SignedCheckpoint {
    /// The number of records that it is about, which precede this one in the log.
    pub size: u64,
    /// The signed note.
    pub note: String,
}

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
    /// The time stamps of authorities for it, oldest first.
    pub time_stamps: Vec<TimeStampOnRecord>,
}

impl Recorded {
    /// Writes the note and its time stamps as files of a directory, and returns the number of time
    /// stamps. The second of a checkpoint has the name of its anchor in that of its file, too.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_files(&self, directory: &Path) -> io::Result<usize> {
        let path = |ending: &str| path_in(directory, self.checkpoint.size, ending);
        fs::write(path("checkpoint"), self.note.to_string())?;
        let mut written = BTreeSet::new();
        for stamp in &self.time_stamps {
            let Some(response) = stamp.response() else {
                continue;
            };
            let fits = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
            let name: String = stamp.anchor.chars().filter(|it| fits(*it)).collect();
            let ending = match written.is_empty() {
                true => "tsr".to_owned(),
                false => format!("{}-{name}.tsr", written.len()),
            };
            fs::write(path(&ending), response)?;
            written.insert(ending);
        }
        Ok(written.len())
    }
}

/// The body of a record with a time stamp. Its signature was not checked.
///
/// ```json
/// {"checkpoint":12,"size":42,"anchor":"tsa","time":"2026-11-28T19:00:00Z","response":"MIIV…"}
/// ```
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct TimeStampOnRecord {
    /// The record of the checkpoint, in the journal's own stream.
    pub checkpoint: u64,
    /// The number of records that the checkpoint is about.
    pub size: u64,
    /// The name of the anchor.
    pub anchor: String,
    /// The time in the time stamp.
    pub time: String,
    /// The response of the authority in base64.
    response: String,
}

impl TimeStampOnRecord {
    pub(crate) fn new(of: &Recorded, anchor: &str, time_stamp: &TimeStamp) -> Self {
        Self {
            checkpoint: of.seq,
            size: of.checkpoint.size,
            anchor: anchor.to_owned(),
            time: time_stamp.time.clone(),
            response: STANDARD.encode(&time_stamp.response),
        }
    }

    /// The response of the authority in DER, for `openssl ts -verify`. `None` if it is no base64.
    pub fn response(&self) -> Option<Vec<u8>> {
        STANDARD.decode(&self.response).ok()
    }
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

/// Reads the checkpoints behind a record of a journal's own stream, each with its time stamps.
pub(crate) async fn recorded_after(
    journal: &dyn Journal,
    seq: u64,
) -> Result<Vec<Recorded>, Error> {
    let (mut found, mut next) = (Vec::<Recorded>::new(), seq + 1);
    loop {
        let page = journal.read(Uuid::nil(), next, PAGE).await?;
        if page.is_empty() {
            return Ok(found);
        }
        next += page.len() as u64;
        for line in &page {
            let Ok(record) = line.record() else { continue };
            match record.kind {
                CHECKPOINT_SIGNED => found.extend(checkpoint(&record)),
                CHECKPOINT_TIME_STAMPED => {
                    let body = serde_json::from_str::<TimeStampOnRecord>(record.body.get());
                    if let Ok(body) = body
                        && let Some(of) = found.iter_mut().find(|it| it.seq == body.checkpoint)
                    {
                        of.time_stamps.push(body);
                    }
                }
                _ => {}
            }
        }
    }
}

fn checkpoint(record: &Record<'_>) -> Option<Recorded> {
    let body = serde_json::from_str::<SignedCheckpoint>(record.body.get()).ok()?;
    let note = body.note.parse::<Note>().ok()?;
    Some(Recorded {
        seq: record.seq,
        at_us: record.at_us,
        checkpoint: Checkpoint::of(&note).ok()?,
        note,
        time_stamps: Vec::new(),
    })
}
