//! Import of sessions. They are folded during the import, because their open work follows from
//! their records.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use recount_journal::seal::{KeyStore, SessionKey, is_sealed_object};
use recount_journal::{Append, Imported, Journal, Line, WorkChange, block_on};
use uuid::Uuid;

use super::appending::work_changes;
use super::erasure::note_erasure;
use super::terms_on_record::{UnknownFields, not_of_newer_rules};
use super::{Entry, Erasure, Error, fact_of};
use crate::session::{
    Event, Fact, ObjectHash, OpenWork, Seq, Session, SessionId, evolve, open_work,
};

/// Creates a journal from an export of all sessions or of one.
///
/// The records and objects stay as they are. Open work and the index of request ids are derived
/// from them. Sealed sessions are read with the keys in `keys` and stay sealed.
///
/// The records of sessions alternate in a file, so memory is needed for the folded state of every
/// session. A file of format 1 has session after session, and only one state is needed.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("journal");
/// let export = std::fs::read("fixtures/journals/rules-1/approved.jsonl")?;
/// let imported = recount::ledger::import(&export[..], &path, None)?;
/// assert_eq!(imported.sessions, 1);
/// # Ok(()) }
/// ```
///
/// # Errors
/// - [`Error::Journal`], as in [`recount_journal::import`].
/// - [`Error::Unreadable`] for a record without a valid event.
/// - [`Error::MissingObject`] if an event names an object that does not precede it.
/// - [`Error::NewerRules`] or [`Error::UnknownField`] if only a newer program can fold a session.
/// - [`Error::Sealed`] if a session is sealed and its key is not in `keys`. The exception is a
///   session whose erasure is in the export.
///
/// A failed import leaves no files behind.
pub fn import(
    reader: impl BufRead + Send,
    to: impl AsRef<Path>,
    keys: Option<&dyn KeyStore>,
) -> Result<Imported, Error> {
    let fold = Mutex::new(Fold::new(keys));
    recount_journal::import_then(
        reader,
        to,
        |append| locked(&fold).changes(append),
        || locked(&fold).end(),
    )
}

/// Appends an export of a whole journal, or of one session, to an empty journal of any kind, with
/// the checks of [`import`].
///
/// `open` opens the export. It is read twice: nothing is appended before all of it is verified and
/// folded. The root of the journal's tree is then that of the export.
///
/// ```
/// use recount_journal::{MemoryJournal, block_on};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let export = std::fs::read("fixtures/journals/rules-1/approved.jsonl")?;
/// let journal = MemoryJournal::new();
/// let imported = recount::ledger::import_into(|| Ok(&export[..]), &journal, None)?;
/// assert_eq!(imported.sessions, 1);
/// # Ok(()) }
/// ```
///
/// # Errors
/// Those of [`import`]; [`Occupied`](recount_journal::Error::Occupied) if the journal has records;
/// the errors of appending, after which it has a part of the export.
pub fn import_into<R: BufRead + Send>(
    mut open: impl FnMut() -> Result<R, Error>,
    journal: &dyn Journal,
    keys: Option<&dyn KeyStore>,
) -> Result<Imported, Error> {
    if block_on(journal.position())? > 0 {
        let path = PathBuf::from("the journal to import into");
        return Err(recount_journal::Error::Occupied { path }.into());
    }
    let mut fold = Fold::new(keys);
    recount_journal::import_appends(open()?, |append| fold.changes(append), |_| Ok(()))?;
    fold.end()?;
    let mut fold = Fold::new(keys);
    let put = |append| Ok(block_on(journal.append(append)).map(drop)?);
    recount_journal::import_appends(open()?, |append| fold.changes(append), put)
}

/// No fold panics, and its state stays valid if one does.
fn locked<'f, 'k>(fold: &'f Mutex<Fold<'k>>) -> MutexGuard<'f, Fold<'k>> {
    fold.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folds of the sessions that are being imported.
pub(super) struct Fold<'k> {
    keys: Option<&'k dyn KeyStore>,
    /// The session of the last append.
    current: Folded,
    /// The other sessions, without their libraries: the current one has what all of them share.
    others: BTreeMap<SessionId, Folded>,
    /// The sealed sessions without a key, and why. Only an erased session may be one.
    closed: BTreeMap<SessionId, Error>,
    erasures: BTreeMap<SessionId, Erasure>,
    unknown_fields: UnknownFields,
}

/// A session as far as it was folded.
struct Folded {
    session: Session,
    open: Vec<(Seq, OpenWork)>,
    /// The key of the session, after the first lookup.
    key: Option<SessionKey>,
}

impl Folded {
    fn new(id: SessionId) -> Self {
        Folded {
            session: Session::new(id),
            open: Vec::new(),
            key: None,
        }
    }
}

impl<'k> Fold<'k> {
    pub(super) fn new(keys: Option<&'k dyn KeyStore>) -> Self {
        Fold {
            keys,
            current: Folded::new(SessionId(Uuid::nil())),
            others: BTreeMap::new(),
            closed: BTreeMap::new(),
            erasures: BTreeMap::new(),
            unknown_fields: UnknownFields::default(),
        }
    }

    /// Fails if a session could not be folded without a key and was not erased.
    fn end(&mut self) -> Result<(), Error> {
        let first = self.closed().next();
        first.map_or(Ok(()), |(_, error)| Err(error))
    }

    /// The sessions that could not be folded without a key, and that were not erased.
    pub(super) fn closed(&mut self) -> impl Iterator<Item = (SessionId, Error)> {
        let closed = std::mem::take(&mut self.closed).into_iter();
        closed.filter(|(id, _)| !self.erasures.contains_key(id))
    }

    /// Returns the changes of open work that the records of an append cause.
    pub(super) fn changes(&mut self, append: &Append) -> Result<Vec<WorkChange>, Error> {
        if append.session.is_nil() {
            let records = append.lines.iter().filter_map(|line| line.record().ok());
            records.for_each(|record| note_erasure(&mut self.erasures, &record));
            return Ok(Vec::new());
        }
        self.adopt(append);
        let id = SessionId(append.session);
        let mut changes = Vec::new();
        let mut session = std::mem::replace(&mut self.current.session, Session::new(id));
        for (line, seq) in append.lines.iter().zip(append.expected + 1..) {
            let fact = match self.fact(&session, Seq(seq), line) {
                Ok(Some(fact)) => fact,
                Ok(None) => continue,
                Err(error) => {
                    self.current.session = session;
                    return Err(error);
                }
            };
            session = evolve(session, &fact);
            // The index keeps each request, even one that is settled within the same append.
            if let Event::Decided(decision) = &fact.event
                && decision.question().is_some()
            {
                self.note(&session, &mut changes);
            }
        }
        self.note(&session, &mut changes);
        self.current.session = session;
        Ok(changes)
    }

    /// Returns the changes that end all open work of the session of an append, whose own records
    /// are not folded. Its objects are adopted, because other sessions may name them.
    pub(super) fn nothing_open(&mut self, append: &Append) -> Vec<WorkChange> {
        self.adopt(append);
        let removed = self.current.open.drain(..);
        let removed = removed.map(|(seq, _)| WorkChange::Remove {
            session: append.session,
            item: seq.0,
        });
        removed.collect()
    }

    /// Goes on with the session of an append, and adopts its objects.
    fn adopt(&mut self, append: &Append) {
        let id = SessionId(append.session);
        if self.current.session.id != id {
            // Sessions may name the catalogs and policies of others.
            let library = std::mem::take(self.current.session.library_mut());
            let next = self.others.remove(&id).unwrap_or_else(|| Folded::new(id));
            let last = std::mem::replace(&mut self.current, next);
            self.others.insert(last.session.id, last);
            *self.current.session.library_mut() = library;
        }
        for object in &append.objects {
            let hash = ObjectHash::from_bytes(*object.hash.as_bytes());
            let library = self.current.session.library_mut();
            let unknown_fields = &mut self.unknown_fields;
            let mut adopt = |content: &[u8]| {
                if library.adopt(hash, content) {
                    unknown_fields.note(hash, content);
                }
            };
            // A fold needs no other objects. If this one cannot be decrypted, reading the records
            // will fail.
            if !is_sealed_object(&object.bytes) {
                adopt(&object.bytes);
            } else if let Ok(key) = key(self.keys, &mut self.current.key, id)
                && let Ok(content) = key.open_object(&object.bytes)
            {
                adopt(&content);
            }
        }
    }

    /// The fact of a record, or `None` for a sealed record of an erased session.
    fn fact(&mut self, session: &Session, seq: Seq, line: &Line) -> Result<Option<Fact>, Error> {
        let id = session.id;
        let fact = match fact_of(id, seq, line.bytes()) {
            Err(Error::Sealed { .. }) => match key(self.keys, &mut self.current.key, id) {
                Ok(key) => Entry::read(id, seq, line.clone(), Some(key))?.fact()?,
                // An erased session cannot be folded, and it had no open work when it was erased.
                // The record of its erasure may come later.
                Err(error @ Error::Sealed { .. }) => {
                    self.closed.entry(id).or_insert(error);
                    return Ok(None);
                }
                Err(error) => return Err(error),
            },
            fact => fact?,
        };
        if let Event::Observed(observation) = &fact.event {
            not_of_newer_rules(id, fact.seq, observation)?;
            let missing = session.library().missing(&observation.objects());
            if let Some(hash) = missing.last().copied() {
                return Err(Error::MissingObject { session: id, hash });
            }
            self.unknown_fields.check(session, fact.seq, observation)?;
        }
        Ok(Some(fact))
    }

    fn note(&mut self, session: &Session, changes: &mut Vec<WorkChange>) {
        changes.extend(work_changes(session, &self.current.open));
        self.current.open = open_work(session);
    }
}

/// Returns the key of a session, with a lookup unless it is `known`.
fn key<'k>(
    keys: Option<&dyn KeyStore>,
    known: &'k mut Option<SessionKey>,
    session: SessionId,
) -> Result<&'k SessionKey, Error> {
    if known.is_none()
        && let Some(keys) = keys
    {
        *known = block_on(keys.key(session.0))?;
    }
    known.as_ref().ok_or(Error::Sealed { session })
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise"
)]
#[path = "import_tests.rs"]
mod tests;
