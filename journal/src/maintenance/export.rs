//! The export of a journal, or of one session, as JSON lines. SHA-256 is enough to verify them.

use std::collections::BTreeMap;
use std::io::Write;

use uuid::Uuid;

use super::export_writer::ExportWriter;
use crate::store::survey::Finding;
use crate::{Error, Hash, Journal, Line, Trailer};

/// Writes all records in the order of the log, or only those of one stream.
///
/// Each record is written as its exact bytes, and the file says its index among the leaves of the
/// journal's tree. Each object precedes the first record that names its hash. The trailer is the
/// last line. The export of a whole journal has the root that a checkpoint of as many records
/// signs.
///
/// The log is read from its beginning, up to its end at the time of the call, or to the last record
/// of the stream.
///
/// ```
/// use recount_journal::{MemoryJournal, block_on, export, verify};
/// let mut file = Vec::new();
/// let trailer = block_on(export(&MemoryJournal::new(), None, &mut file))?;
/// assert_eq!(verify::export(&file[..])?.root, trailer.root);
/// # Ok::<(), recount_journal::Error>(())
/// ```
///
/// # Errors
/// The errors of reading the journal; [`Error::Damaged`] for a line that is no record;
/// [`Error::Io`] if the output cannot be written.
pub async fn export(
    journal: &dyn Journal,
    session: Option<Uuid>,
    out: &mut (impl Write + Send),
) -> Result<Trailer, Error> {
    export_shown(journal, session, out, |_| None).await
}

/// Like [`export`], but withholds records: `shown` returns the JSON to show in place of a body.
/// Only objects that are named by what is shown are written.
///
/// ```
/// use recount_journal::{Journal, MemoryJournal, block_on, export_shown, own_append, verify};
/// use recount_journal::Actor;
/// # let journal = MemoryJournal::new();
/// block_on(journal.append(own_append(None, 0, Actor::new("engine"), "noted", "{\"pin\":7}")))?;
/// let mut file = Vec::new();
/// block_on(export_shown(&journal, None, &mut file, |_| Some("{}".to_owned())))?;
/// assert!(!String::from_utf8_lossy(&file).contains("pin"));
/// let report = verify::export(&file[..])?;
/// assert!(report.is_sound());
/// assert_eq!(report.withheld, 1);
/// # Ok::<(), recount_journal::Error>(())
/// ```
///
/// # Errors
/// Those of [`export`]; [`Error::Io`] also if what is shown is no JSON.
pub async fn export_shown(
    journal: &dyn Journal,
    session: Option<Uuid>,
    out: &mut (impl Write + Send),
    mut shown: impl FnMut(&Line) -> Option<String> + Send,
) -> Result<Trailer, Error> {
    let mut writer = ExportWriter::new(out);
    let end = journal.position().await?;
    let last = match session {
        Some(session) => journal.head(session).await?.map_or(0, |head| head.seq),
        None => u64::MAX,
    };
    let (mut leaf, mut position, mut written) = (0, 0, 0);
    while position < end && written < last {
        let commit = journal.follow(position).await?;
        position = commit.position;
        for (stream, lines) in &commit.appends {
            if session.is_none_or(|it| it == *stream) {
                writer.at(leaf)?;
                for line in lines {
                    let shown = shown(line);
                    record(journal, *stream, (line, shown), &mut writer).await?;
                }
                written += lines.len() as u64;
            }
            leaf += lines.len() as u64;
        }
    }
    writer.finish()
}

/// Like [`export`] of a whole journal, but leaves out what is no record, and tells each of them as
/// a finding: a line that cannot be read, or an append without lines. It is for a verification,
/// which must look at everything else, too.
///
/// ```
/// use recount_journal::{MemoryJournal, block_on, export_intact, verify};
/// let (mut file, mut findings) = (Vec::new(), Vec::new());
/// let journal = MemoryJournal::new();
/// block_on(export_intact(&journal, &mut file, |finding| findings.push(finding)))?;
/// assert!(findings.is_empty() && verify::export(&file[..])?.is_sound());
/// # Ok::<(), recount_journal::Error>(())
/// ```
///
/// # Errors
/// Those of [`export`].
pub async fn export_intact(
    journal: &dyn Journal,
    out: &mut (impl Write + Send),
    mut found: impl FnMut(Finding) + Send,
) -> Result<Trailer, Error> {
    let mut writer = ExportWriter::new(out);
    let end = journal.position().await?;
    let (mut leaf, mut position) = (0, 0);
    // The seq behind the last record of each stream, and the first that is missing with the number
    // of its appends: behind it, the seqs are not known.
    let (mut next, mut missing) = (BTreeMap::new(), BTreeMap::new());
    while position < end {
        let commit = journal.follow(position).await?;
        position = commit.position;
        for (stream, lines) in commit.appends {
            let next = next.entry(stream).or_insert(1);
            if lines.is_empty() {
                missing.entry(stream).or_insert((*next, 0)).1 += 1;
            }
            for line in &lines {
                match readable(stream, line) {
                    Ok(seq) => {
                        writer.at(leaf)?;
                        record(journal, stream, (line, None), &mut writer).await?;
                        *next = seq + 1;
                    }
                    Err(what) => {
                        found(finding(stream, *next, what));
                        *next += 1;
                    }
                }
                leaf += 1;
            }
        }
    }
    for (stream, (seq, appends)) in missing {
        let what = format!(
            "the record is in the log and is missing; so it is with {appends} appends of the \
             session"
        );
        found(finding(stream, seq, what));
    }
    writer.finish()
}

/// The seq of a line that is a record of a stream. Otherwise, what it is instead.
fn readable(stream: Uuid, line: &Line) -> Result<u64, String> {
    let record = line.record();
    let record = record.map_err(|malformed| format!("the line is no record: {malformed}"))?;
    if record.session != stream {
        return Err(format!("the line is of session {}", record.session));
    }
    Ok(record.seq)
}

fn finding(session: Uuid, seq: u64, what: String) -> Finding {
    Finding {
        session: Some(session),
        seq: Some(seq),
        what,
    }
}

/// Writes a record behind the objects that it names for the first time.
async fn record<W: Write>(
    journal: &dyn Journal,
    stream: Uuid,
    (line, shown): (&Line, Option<String>),
    writer: &mut ExportWriter<W>,
) -> Result<(), Error> {
    // Who reads the export of a journal is told of its damage, and not of a failed write.
    if line.place().is_none()
        && let Err(malformed) = line.record()
    {
        return Err(Error::Damaged {
            session: Some(stream),
            seq: Some(writer.head(stream).map_or(1, |head| head.seq + 1)),
            what: format!("the line is no record: {malformed}"),
        });
    }
    // The predecessor hash in each record is not an object.
    let prev = writer.head(stream).map_or(Hash::ZERO, |head| head.hash);
    let read = shown.as_ref().map_or(line.bytes(), |it| it.as_bytes());
    for hash in mentioned(read) {
        if hash != prev
            && !writer.has_object(hash)
            && let Some(bytes) = journal.object(hash).await?
        {
            writer.object(hash, &bytes)?;
        }
    }
    match shown {
        Some(body) => writer.withheld(line, &body),
        None => writer.record(line),
    }
}

/// Iterates over all runs of exactly 64 lower-case hex digits.
fn mentioned(line: &[u8]) -> impl Iterator<Item = Hash> {
    let runs = line
        .split(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        .filter(|run| run.len() == 64);
    runs.filter_map(|run| str::from_utf8(run).ok()?.parse().ok())
}
