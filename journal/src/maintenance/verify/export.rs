//! The verification of an exported file by itself.

use std::io::{self, BufRead, ErrorKind, Read};

use super::check::{Check, OBJECT, TRAILER};
use super::report::Report;
use crate::records::limits::{OBJECT_LIMIT, RECORD_LIMIT};
use crate::{Error, Hash, Record};

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
