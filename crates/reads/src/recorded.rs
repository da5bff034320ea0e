//! The reading of an access journal.

use std::collections::BTreeMap;

use recount::session::Timestamp;
use recount_journal::{Error, Journal, Record};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::bodies::{
    BEGAN, Began, ENDED, Ended, MISSED, MissedReads, Place, READ, REPEATED, Repeated,
};
use crate::days::is_day;
use crate::read::Read;

/// The number of records that are read at a time.
const PAGE: usize = 1_000;

/// A read on record.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRead {
    /// The stream of the record.
    pub stream: Uuid,
    /// The record.
    pub seq: u64,
    /// The time of the answer.
    pub at: Timestamp,
    /// The read.
    pub read: Read,
    /// The number of further reads by the same reader at the same route soon after. They read
    /// sessions of this read, or of another one that the same reader made in that time.
    pub repeats: u64,
    /// The time of the last of them, or of the read itself.
    pub last: Timestamp,
}

/// Reads that were served although they could not be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// The number of reads.
    pub reads: u64,
    /// The time of the first one.
    pub from: Timestamp,
    /// The time of the last one.
    pub until: Timestamp,
    /// The error of the journal.
    pub error: String,
}

/// A change of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// A service that records reads began.
    Began,
    /// It ended. Without this, the process was killed.
    Ended,
    /// A service without the recording began: its configuration switches it off.
    Off,
}

/// The content of an access journal, each part oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OnRecord {
    /// The reads.
    pub reads: Vec<RecordedRead>,
    /// The reads that are missing.
    pub missed: Vec<Missed>,
    /// The times at which the recording began and ended.
    pub switches: Vec<(Timestamp, Switch)>,
}

/// Reads an access journal.
///
/// A record that is none of an access journal is passed over; `recount verify` checks the journal.
///
/// ```
/// use recount_journal::{MemoryJournal, block_on};
/// let found = block_on(recount_reads::on_record(&MemoryJournal::new()))?;
/// assert!(found.reads.is_empty());
/// # Ok::<(), recount_journal::Error>(())
/// ```
///
/// # Errors
/// Those of reading the journal.
pub async fn on_record(journal: &dyn Journal) -> Result<OnRecord, Error> {
    let mut found = Found::default();
    for stream in days(journal).await? {
        let mut next = 1;
        loop {
            let page = journal.read(stream, next, PAGE).await?;
            if page.is_empty() {
                break;
            }
            next += page.len() as u64;
            for record in page.iter().filter_map(|it| it.record().ok()) {
                found.take(&record);
            }
        }
    }
    Ok(found.whole())
}

/// Reads the latest reads that `wanted` selects, newest first, at most `limit`. Looks at `depth`
/// records at most.
///
/// # Errors
/// Those of reading the journal.
pub async fn latest(
    journal: &dyn Journal,
    (limit, depth): (usize, usize),
    wanted: impl Fn(&RecordedRead) -> bool,
) -> Result<OnRecord, Error> {
    let (mut found, mut left) = (Found::default(), depth as u64);
    let mut number = 0;
    'days: for stream in days(journal).await?.into_iter().rev() {
        let head = journal.head(stream).await?;
        let mut end = head.map_or(0, |it| it.seq);
        while end > 0 {
            let length = end.min(PAGE as u64).min(left);
            if length == 0 || number >= limit {
                break 'days;
            }
            let from = end - length + 1;
            let lines = usize::try_from(length).unwrap_or(PAGE);
            for line in journal.read(stream, from, lines).await? {
                if let Ok(record) = line.record() {
                    found.take(&record);
                }
            }
            number = found.reads.values().filter(|it| wanted(it)).count();
            (end, left) = (from - 1, left - length);
        }
    }
    let mut found = found.whole();
    found.reads.retain(wanted);
    found.reads.reverse();
    found.reads.truncate(limit);
    Ok(found)
}

/// Returns the streams of days, oldest first.
async fn days(journal: &dyn Journal) -> Result<Vec<Uuid>, Error> {
    let (mut days, mut after) = (Vec::new(), None);
    loop {
        let page = journal.sessions(after, PAGE).await?;
        let Some((last, _)) = page.last() else {
            return Ok(days);
        };
        after = Some(*last);
        days.extend(page.iter().map(|(id, _)| *id).filter(|it| is_day(*it)));
    }
}

/// The content that was found so far.
#[derive(Default)]
struct Found {
    reads: BTreeMap<Place, RecordedRead>,
    repeated: Vec<Repeated>,
    others: OnRecord,
}

impl Found {
    fn take(&mut self, record: &Record<'_>) {
        let (stream, seq) = (record.session, record.seq);
        let at = Timestamp(record.at_us);
        match record.kind {
            READ => {
                if let Some(read) = body::<Read>(record) {
                    let read = RecordedRead {
                        stream,
                        seq,
                        at,
                        read,
                        repeats: 0,
                        last: at,
                    };
                    self.reads.insert(Place { stream, seq }, read);
                }
            }
            REPEATED => self.repeated.extend(body::<Repeated>(record)),
            MISSED => {
                let missed = body::<MissedReads>(record).map(|it| Missed {
                    reads: it.reads,
                    from: it.from,
                    until: it.until,
                    error: it.error,
                });
                self.others.missed.extend(missed);
            }
            BEGAN if body::<Began>(record).is_some() => {
                self.others.switches.push((at, Switch::Began));
            }
            ENDED => {
                if let Some(Ended { off }) = body(record) {
                    let switch = if off { Switch::Off } else { Switch::Ended };
                    self.others.switches.push((at, switch));
                }
            }
            _ => {}
        }
    }

    /// The content, with the repetitions at the reads that they repeat.
    fn whole(mut self) -> OnRecord {
        for repeated in self.repeated {
            if let Some(read) = self.reads.get_mut(&repeated.of) {
                read.repeats = read.repeats.saturating_add(repeated.times);
                read.last = read.last.max(repeated.last);
            }
        }
        let mut reads: Vec<_> = self.reads.into_values().collect();
        // A clock that was set back leaves a stream of an earlier day behind a later one.
        reads.sort_by_key(|it| it.at);
        self.others.missed.sort_by_key(|it| it.from);
        self.others.switches.sort_by_key(|(at, _)| *at);
        OnRecord {
            reads,
            ..self.others
        }
    }
}

fn body<T: DeserializeOwned>(record: &Record<'_>) -> Option<T> {
    serde_json::from_str(record.body.get()).ok()
}
