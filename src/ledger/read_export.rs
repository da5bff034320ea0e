//! Sessions of an export, read without an import.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use recount_journal::seal::KeyStore;
use recount_journal::{Append, WorkChange};

use super::import::Fold;
use super::{Error, Ledger};
use crate::session::SessionId;

/// An export in memory.
#[non_exhaustive]
pub struct ExportRead {
    /// The sessions. Nothing can be appended to them.
    pub ledger: Ledger,
    /// The sessions whose open work is not known, and why. Open work follows from the records, so
    /// they are sealed and their key is missing, or only another version of Recount can read them.
    pub work_unknown: BTreeMap<SessionId, Error>,
}

/// Reads an export of all sessions or of one into memory.
///
/// The file is verified as in [`import`](super::import()). Unlike an import, this also reads a file
/// that has only some sessions of a journal, sessions that are sealed and whose key is not in
/// `keys`, and those that only another version can fold. Memory is needed for all records and
/// objects of the export.
///
/// ```
/// use recount_journal::block_on;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let export = std::fs::read("fixtures/journals/rules-1/approved.jsonl")?;
/// let read = recount::ledger::read_export(&export[..], None)?;
/// assert_eq!(block_on(read.ledger.sessions())?.len(), 1);
/// assert!(read.work_unknown.is_empty());
/// # Ok(()) }
/// ```
///
/// # Errors
/// - [`Error::Journal`], as in [`recount_journal::read_export`].
/// - [`Error::MissingObject`] if an event names an object that does not precede it.
pub fn read_export(
    reader: impl BufRead + Send,
    keys: Option<Arc<dyn KeyStore>>,
) -> Result<ExportRead, Error> {
    let mut fold = Fold::new(keys.as_deref());
    let mut work_unknown = BTreeMap::new();
    let journal = recount_journal::read_export(reader, |append| {
        changes(&mut fold, append, &mut work_unknown)
    })?;
    work_unknown.extend(fold.closed());
    let ledger = Ledger::new(Arc::new(journal));
    Ok(ExportRead {
        ledger: match &keys {
            Some(keys) => ledger.with_keys(keys.clone()),
            None => ledger,
        },
        work_unknown,
    })
}

/// The changes of open work, none in a session that cannot be folded.
fn changes(
    fold: &mut Fold<'_>,
    append: &Append,
    work_unknown: &mut BTreeMap<SessionId, Error>,
) -> Result<Vec<WorkChange>, Error> {
    let session = SessionId(append.session);
    if work_unknown.contains_key(&session) {
        return Ok(fold.nothing_open(append));
    }
    match fold.changes(append) {
        Err(error) if only_hides_work(&error) => {
            work_unknown.insert(session, error);
            Ok(fold.nothing_open(append))
        }
        changes => changes,
    }
}

/// True if the export is as it was written, and only this program cannot fold a session.
fn only_hides_work(error: &Error) -> bool {
    match error {
        Error::Sealed { .. }
        | Error::Seal(_)
        | Error::Unreadable { .. }
        | Error::Malformed { .. }
        | Error::NewerRules { .. }
        | Error::UnknownField { .. } => true,
        Error::Journal(_)
        | Error::NoKeyStore { .. }
        | Error::MissingObject { .. }
        | Error::UnknownSession { .. }
        | Error::Unwritable { .. }
        | Error::Endless { .. } => false,
    }
}
