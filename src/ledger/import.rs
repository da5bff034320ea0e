//! Importing sessions: what they have open follows from their records, so each is folded on its way in.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use recount_journal::{Append, Imported, WorkChange};

use super::store::work_changes;
use super::{Error, fact_of};
use crate::session::{
    Event, Fact, Library, ObjectHash, OpenWork, Seq, Session, SessionId, evolve, open_work,
};

/// Makes a new journal of an export, whole or of one session: the records and objects as they are, and what follows from
/// them, open work and the names of all requests.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("journal");
/// let export = include_bytes!("../../fixtures/journals/rules-1/approved.jsonl");
/// let imported = recount::ledger::import(&export[..], &path)?;
/// assert_eq!(imported.sessions, 1);
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Error::Journal`] as [`recount_journal::import`] says, [`Error::Unreadable`] for a record that is no event, and
/// [`Error::MissingObject`] where an event names an object that does not stand before it. Nothing is left behind.
pub fn import(reader: impl BufRead, to: impl AsRef<Path>) -> Result<Imported, Error> {
    let mut fold = Fold::default();
    recount_journal::import(reader, to, |append| fold.changes(append))
}

/// The session that is read.
#[derive(Default)]
struct Fold {
    session: Option<Session>,
    open: BTreeMap<Seq, OpenWork>,
    /// The catalogs and policies read so far: a later session may name them, too.
    terms: BTreeMap<ObjectHash, Arc<[u8]>>,
}

impl Fold {
    /// What the records of an append change.
    fn changes(&mut self, append: &Append) -> Result<Vec<WorkChange>, Error> {
        for object in &append.objects {
            let hash = ObjectHash::from_bytes(*object.hash.as_bytes());
            if Library::default().adopt(hash, &object.bytes) {
                self.terms.insert(hash, object.bytes.clone());
            }
        }
        let id = SessionId(append.session);
        let mut session = match self.session.take() {
            Some(session) if session.id == id => session,
            Some(_) | None => {
                self.open.clear();
                Session::new(id)
            }
        };
        let mut changes = Vec::new();
        for (line, seq) in append.lines.iter().zip(append.expected + 1..) {
            let fact = fact_of(id, Seq(seq), line.bytes())?;
            self.provide(&mut session, &fact)?;
            session = evolve(session, &fact);
            // A request is known for ever, even if it is settled before the append ends.
            if let Event::Decided(decision) = &fact.event
                && decision.question().is_some()
            {
                self.note(&session, &mut changes);
            }
        }
        self.note(&session, &mut changes);
        self.session = Some(session);
        Ok(changes)
    }

    /// Hands the objects that `fact` names to `session`.
    fn provide(&self, session: &mut Session, fact: &Fact) -> Result<(), Error> {
        let Event::Observed(observation) = &fact.event else {
            return Ok(());
        };
        for hash in session.library().missing(&observation.objects()) {
            let known = self.terms.get(&hash);
            if !known.is_some_and(|bytes| session.library_mut().adopt(hash, bytes)) {
                return Err(Error::MissingObject {
                    session: session.id,
                    hash,
                });
            }
        }
        Ok(())
    }

    fn note(&mut self, session: &Session, changes: &mut Vec<WorkChange>) {
        changes.extend(work_changes(session, &self.open));
        self.open = open_work(session);
    }
}
