//! The verification of an exported file by itself.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufRead, ErrorKind, Read};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use uuid::Uuid;

use super::report::Report;
use crate::records::export_lines::{ObjectLine, Trailer, TrailerLine};
use crate::records::limits::{OBJECT_LIMIT, RECORD_LIMIT};
use crate::records::line::Place;
use crate::store::survey::{Finding, Streams};
use crate::tree::Frontier;
use crate::{Error, Hash, Object, Record};

const OBJECT: &[u8] = b"{\"object\":";
const TRAILER: &[u8] = b"{\"trailer\":";
/// The maximum length of a record's line, in bytes. No record reaches it.
const RECORD_LINE_LIMIT: usize = 2 * RECORD_LIMIT;
/// The maximum length of an object's line, in bytes. JSON writes a byte with six at most.
const OBJECT_LINE_LIMIT: usize = 6 * OBJECT_LIMIT + 1024;
/// The maximum length of any line, in bytes. A trailer has a head for every session.
const LINE_LIMIT: usize = 1 << 30;

/// Verifies an exported file: chains, objects, and the trailer.
///
/// The verifier does not know which hashes in a record name objects. It therefore misses an object
/// that was removed or moved behind its first use, if the trailer was adjusted. Only
/// [`export_naming`] finds that.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read. Every other fault is a finding of the report. That
/// includes a line longer than any may be, and an error of the reader of the kinds
/// [`InvalidData`](ErrorKind::InvalidData) and [`UnexpectedEof`](ErrorKind::UnexpectedEof), with
/// which a decompressor reports damage. Nothing behind such a place is read.
pub fn export(reader: impl BufRead) -> Result<Report, Error> {
    export_naming(reader, |_| Vec::new())
}

/// Verifies an exported file like [`export`]. It also checks that each object precedes the first
/// record that names it. `names` returns the objects of a record.
///
/// ```
/// use recount_journal::{
///     Actor, Append, Draft, Hash, Journal, MemoryJournal, Object, block_on, export, verify,
/// };
/// # use uuid::Uuid;
/// let journal = MemoryJournal::new();
/// let catalog = Object::new(*b"{}");
/// let line = Draft {
///     session: Uuid::from_u128(1), seq: 1, at_us: 0, kind: "catalog", cause: None,
///     actor: Actor::new("engine"), body: &format!("\"{}\"", catalog.hash), prev: Hash::ZERO,
/// }.line();
/// let append = Append::new(Uuid::from_u128(1), 0, vec![line]);
/// block_on(journal.append(Append { objects: vec![catalog], ..append }))?;
/// let mut file = Vec::new();
/// block_on(export(&journal, None, &mut file))?;
/// let without: String = str::from_utf8(&file).unwrap().lines()
///     .filter(|line| !line.contains("\"object\":"))
///     .map(|line| line.replace("\"objects\":1", "\"objects\":0") + "\n").collect();
/// assert!(verify::export(without.as_bytes())?.is_sound());
/// let report = verify::export_naming(without.as_bytes(), |record| {
///     serde_json::from_str(record.body.get()).into_iter().collect()
/// })?;
/// assert_eq!(report.findings[0].seq, Some(1));
/// # Ok::<(), recount_journal::Error>(())
/// ```
///
/// # Errors
/// [`Error::Io`] if the file cannot be read. Every other fault is a finding of the report. That
/// includes a line longer than any may be, and an error of the reader of the kinds
/// [`InvalidData`](ErrorKind::InvalidData) and [`UnexpectedEof`](ErrorKind::UnexpectedEof), with
/// which a decompressor reports damage. Nothing behind such a place is read.
pub fn export_naming(
    mut reader: impl BufRead,
    mut names: impl FnMut(&Record<'_>) -> Vec<Hash>,
) -> Result<Report, Error> {
    let mut check = Check::default();
    let mut line = Vec::new();
    loop {
        match next_line(&mut reader, &mut line) {
            Ok(Some(ended)) => drop(check.line(&line, ended, &mut names)),
            Ok(None) => break,
            Err(Error::DamagedExport { what, .. }) => {
                check.ends_unread(what);
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(check.report())
}

/// Reads a line without its line end. Returns true if it had one, and `None` after the last line. A
/// line that is too long for an export is rejected before it is in memory.
pub(crate) fn next_line(
    reader: &mut impl BufRead,
    line: &mut Vec<u8>,
) -> Result<Option<bool>, Error> {
    line.clear();
    for limit in [RECORD_LINE_LIMIT, OBJECT_LINE_LIMIT, LINE_LIMIT] {
        let room = limit.saturating_sub(line.len());
        let mut bounded = reader.by_ref().take(room as u64);
        bounded.read_until(b'\n', line).map_err(unread)?;
        if line.len() < limit || line.ends_with(b"\n") {
            break;
        }
        let limit_of_kind = match () {
            () if line.starts_with(OBJECT) => OBJECT_LINE_LIMIT,
            () if line.starts_with(TRAILER) => LINE_LIMIT,
            () => RECORD_LINE_LIMIT,
        };
        if limit >= limit_of_kind {
            let what =
                format!("it has a line of over {limit} bytes, which is longer than any may be");
            return Err(Error::DamagedExport {
                session: None,
                seq: None,
                what,
            });
        }
    }
    let is_there = !line.is_empty();
    Ok(is_there.then(|| line.pop_if(|byte| *byte == b'\n').is_some()))
}

/// The error of a reader: of the disk, or of a decompressor that found damage.
fn unread(error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof => Error::DamagedExport {
            session: None,
            seq: None,
            what: error.to_string(),
        },
        _ => Error::io("read the export")(error),
    }
}

/// The kind of a line.
pub(crate) enum Seen {
    /// A record, its place, and its leaf hash.
    Record(Place, Hash),
    Object(Object),
    /// The trailer, or a fault.
    Other,
}

/// A check that reads each line once.
#[derive(Default)]
pub(crate) struct Check {
    streams: Streams,
    tree: Frontier,
    objects: HashSet<Hash>,
    object_lines: u64,
    trailer: Option<Trailer>,
    number: u64,
    /// The stream and seq of the last record.
    place: Option<(Uuid, u64)>,
    /// The faults of objects, until the record that follows them.
    about_objects: Vec<String>,
}

impl Check {
    /// The first fault so far.
    pub(crate) fn finding(&self) -> Option<&Finding> {
        self.streams.findings.first()
    }

    /// Notes that the rest of the file cannot be read.
    fn ends_unread(&mut self, what: String) {
        let (session, seq) = self.place.unzip();
        let what = format!("line {}: {what}", self.number + 1);
        self.streams.find(session, seq.map(|seq| seq + 1), what);
    }

    /// Checks the next line. `names` returns the objects of a record.
    pub(crate) fn line(
        &mut self,
        line: &[u8],
        ended: bool,
        names: &mut impl FnMut(&Record<'_>) -> Vec<Hash>,
    ) -> Seen {
        self.number += 1;
        let number = self.number;
        if self.trailer.is_some() {
            self.streams.find(
                None,
                None,
                format!("line {number} stands behind the trailer"),
            );
        }
        if line.starts_with(OBJECT) {
            self.object(line).map_or(Seen::Other, Seen::Object)
        } else if line.starts_with(TRAILER) {
            match serde_json::from_slice::<TrailerLine>(line) {
                Ok(found) if ended => self.trailer = Some(found.trailer),
                Ok(_) => self
                    .streams
                    .find(None, None, "the trailer has no line end".to_owned()),
                Err(error) => {
                    self.streams
                        .find(None, None, format!("the trailer cannot be read: {error}"))
                }
            }
            Seen::Other
        } else {
            self.record(line, names)
        }
    }

    fn record(&mut self, line: &[u8], names: &mut impl FnMut(&Record<'_>) -> Vec<Hash>) -> Seen {
        // An unreadable line counts as the record that should be here.
        let guess = self
            .place
            .map_or((Uuid::nil(), 1), |(session, seq)| (session, seq + 1));
        let leaf = Hash::of_line(line);
        self.tree.push(leaf);
        let mut seen = Seen::Other;
        let (session, seq) = match Record::parse(line) {
            Ok(record) => {
                seen = Seen::Record(Place::of(&record), leaf);
                if let Some((last, _)) = self.place.filter(|(last, _)| record.session < *last) {
                    let what =
                        format!("the record stands behind session {last}, which comes later");
                    self.streams
                        .find(Some(record.session), Some(record.seq), what);
                }
                self.streams.record(&record, leaf);
                let missing = names(&record)
                    .into_iter()
                    .filter(|hash| !self.objects.contains(hash));
                self.about_objects.extend(missing.map(|hash| {
                    format!("the record names object {hash}, which does not stand before it")
                }));
                (record.session, record.seq)
            }
            Err(malformed) => {
                let what = format!("line {}: {malformed}", self.number);
                match self.place {
                    Some(_) => self.streams.unreadable(guess.0, guess.1, what),
                    None => self.streams.find(None, None, what),
                }
                guess
            }
        };
        for what in self.about_objects.drain(..) {
            self.streams.find(Some(session), Some(seq), what);
        }
        self.place = Some((session, seq));
        seen
    }

    fn object(&mut self, line: &[u8]) -> Option<Object> {
        self.object_lines += 1;
        let found = serde_json::from_slice::<ObjectLine>(line)
            .map_err(|error| error.to_string())
            .and_then(|found| {
                let bytes = match (found.text, found.base64) {
                    (Some(text), None) => text.into_bytes(),
                    (None, Some(base64)) => BASE64_STANDARD
                        .decode(base64)
                        .map_err(|error| error.to_string())?,
                    (None, None) | (Some(_), Some(_)) => {
                        return Err("expected either text or base64".to_owned());
                    }
                };
                let object = Object::new(bytes);
                if object.hash == found.object {
                    Ok(object)
                } else {
                    Err(format!("object {} hashes to {}", found.object, object.hash))
                }
            });
        let what = match found {
            Ok(object) if self.objects.insert(object.hash) => return Some(object),
            Ok(object) => format!("line {}: object {} comes twice", self.number, object.hash),
            Err(what) => format!(
                "line {}: the object before this record is altered: {what}",
                self.number
            ),
        };
        self.about_objects.push(what);
        None
    }

    /// Compares the lines with the trailer, and returns the report.
    pub(crate) fn report(mut self) -> Report {
        for what in std::mem::take(&mut self.about_objects) {
            self.streams.find(None, None, what);
        }
        let root = self.tree.root();
        match self.trailer.take() {
            Some(trailer) => self.compare(&trailer, root),
            None => {
                let (session, seq) = self.place.unzip();
                let seq = seq.map(|seq| seq + 1);
                self.streams.find(
                    session,
                    seq,
                    "the file is cut off here: it has no trailer".to_owned(),
                );
            }
        }
        let heads = self.streams.heads();
        let sessions = heads.keys().filter(|session| !session.is_nil()).count() as u64;
        Report {
            records: self.streams.records,
            sessions,
            objects: self.objects.len() as u64,
            root,
            span_us: self.streams.span_us,
            anchor: None,
            heads,
            findings: self.streams.findings,
            notes: Vec::new(),
        }
    }

    fn compare(&mut self, trailer: &Trailer, root: Hash) {
        let heads: BTreeMap<_, _> = trailer
            .heads
            .iter()
            .map(|(session, head)| (*session, (head.seq, head.hash)))
            .collect();
        self.streams.compare(&heads, "the trailer");
        for (session, head) in self.streams.heads() {
            let known = trailer.heads.get(&session).map_or(0, |known| known.seq);
            if head.seq > known {
                let what = format!(
                    "the session ends at record {}, the trailer knows its records up to {known}",
                    head.seq
                );
                self.streams.find(Some(session), Some(known + 1), what);
            }
        }
        let records = self.streams.records;
        let mut differ = |what: &str, found: String, known: String| {
            if found != known {
                self.streams.find(
                    None,
                    None,
                    format!("the file has {what} {found}, the trailer says {known}"),
                );
            }
        };
        differ("root", root.to_string(), trailer.root.to_string());
        differ(
            "objects",
            self.object_lines.to_string(),
            trailer.objects.to_string(),
        );
        differ("records", records.to_string(), trailer.records.to_string());
    }
}
