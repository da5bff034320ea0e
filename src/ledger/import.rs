//! Importing sessions: what they have open follows from their records, so each is folded on its way
//! in.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;

use recount_journal::seal::{KeyStore, SessionKey, is_sealed_object};
use recount_journal::{Append, Imported, WorkChange, block_on};
use uuid::Uuid;

use super::erasure::note_erasure;
use super::store::work_changes;
use super::{Entry, Erasure, Error, fact_of};
use crate::session::{Event, ObjectHash, OpenWork, Seq, Session, SessionId, evolve, open_work};

/// Makes a new journal of an export, whole or of one session: the records and objects as they are,
/// and what follows from them, open work and the names of all requests. What is sealed is read with
/// the keys in `keys`, and stays sealed.
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
/// [`Error::Journal`] as [`recount_journal::import`] says, [`Error::Unreadable`] for a record that
/// is no event, and [`Error::MissingObject`] where an event names an object that does not stand
/// before it; [`Error::Sealed`] where a session is sealed and its key is not in `keys`, unless the
/// export says that it was erased. Nothing is left behind.
pub fn import(
    reader: impl BufRead + Send,
    to: impl AsRef<Path>,
    keys: Option<&dyn KeyStore>,
) -> Result<Imported, Error> {
    let mut fold = Fold {
        keys,
        key: None,
        session: Session::new(SessionId(Uuid::nil())),
        open: Vec::new(),
        erasures: BTreeMap::new(),
    };
    recount_journal::import(reader, to, |append| fold.changes(append))
}

/// The session that is read.
struct Fold<'k> {
    keys: Option<&'k dyn KeyStore>,
    /// The key of the session, once it was looked up.
    key: Option<SessionKey>,
    session: Session,
    open: Vec<(Seq, OpenWork)>,
    erasures: BTreeMap<SessionId, Erasure>,
}

impl Fold<'_> {
    /// What the records of an append change.
    fn changes(&mut self, append: &Append) -> Result<Vec<WorkChange>, Error> {
        if append.session.is_nil() {
            // The journal's own stream comes before all others.
            let records = append.lines.iter().filter_map(|line| line.record().ok());
            records.for_each(|record| note_erasure(&mut self.erasures, &record));
            return Ok(Vec::new());
        }
        let id = SessionId(append.session);
        if self.session.id != id {
            // The catalogs and policies read so far go along: any session may name them, too.
            let library = std::mem::take(self.session.library_mut());
            self.session = Session::with_library(id, library);
            self.open.clear();
            self.key = None;
        }
        for object in &append.objects {
            let hash = ObjectHash::from_bytes(*object.hash.as_bytes());
            let library = self.session.library_mut();
            // Of other objects a fold knows nothing, and of one that does not open here the records
            // will tell.
            let _adopted = if is_sealed_object(&object.bytes) {
                key(self.keys, &mut self.key, id).is_ok_and(|key| {
                    let content = key.open_object(&object.bytes);
                    content.is_ok_and(|content| library.adopt(hash, &content))
                })
            } else {
                library.adopt(hash, &object.bytes)
            };
        }
        let mut changes = Vec::new();
        let mut session = std::mem::replace(&mut self.session, Session::new(id));
        for (line, seq) in append.lines.iter().zip(append.expected + 1..) {
            let fact = match fact_of(id, Seq(seq), line.bytes()) {
                Err(Error::Sealed { .. }) => match key(self.keys, &mut self.key, id) {
                    Ok(key) => Entry::read(id, Seq(seq), line.clone(), Some(key))?.fact()?,
                    // Nobody can fold it any more, and nothing in it was open when it was erased.
                    Err(Error::Sealed { .. }) if self.erasures.contains_key(&id) => continue,
                    Err(error) => return Err(error),
                },
                fact => fact?,
            };
            if let Event::Observed(observation) = &fact.event
                && let Some(hash) = session.library().missing(&observation.objects()).pop()
            {
                return Err(Error::MissingObject { session: id, hash });
            }
            session = evolve(session, &fact);
            // A request is known for ever, even if it is settled before the append ends.
            if let Event::Decided(decision) = &fact.event
                && decision.question().is_some()
            {
                self.note(&session, &mut changes);
            }
        }
        self.note(&session, &mut changes);
        self.session = session;
        Ok(changes)
    }

    fn note(&mut self, session: &Session, changes: &mut Vec<WorkChange>) {
        changes.extend(work_changes(session, &self.open));
        self.open = open_work(session);
    }
}

/// The key of a session, looked up where it is not `known`.
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
