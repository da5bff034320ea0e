//! Importing sessions: what they have open follows from their records, so each is folded on its way in.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;

use recount_journal::{Append, Imported, WorkChange};
use uuid::Uuid;

use super::store::work_changes;
use super::{Error, fact_of};
use crate::session::{Event, ObjectHash, OpenWork, Seq, Session, SessionId, evolve, open_work};

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
    let mut fold = Fold {
        session: Session::new(SessionId(Uuid::nil())),
        open: BTreeMap::new(),
    };
    recount_journal::import(reader, to, |append| fold.changes(append))
}

/// The session that is read.
struct Fold {
    session: Session,
    open: BTreeMap<Seq, OpenWork>,
}

impl Fold {
    /// What the records of an append change.
    fn changes(&mut self, append: &Append) -> Result<Vec<WorkChange>, Error> {
        let id = SessionId(append.session);
        if self.session.id != id {
            // The catalogs and policies read so far go along: any session may name them, too.
            let library = std::mem::take(self.session.library_mut());
            self.session = Session::with_library(id, library);
            self.open.clear();
        }
        for object in &append.objects {
            let hash = ObjectHash::from_bytes(*object.hash.as_bytes());
            // Of other objects a fold knows nothing.
            let _adopted = self.session.library_mut().adopt(hash, &object.bytes);
        }
        let mut changes = Vec::new();
        let mut session = std::mem::replace(&mut self.session, Session::new(id));
        for (line, seq) in append.lines.iter().zip(append.expected + 1..) {
            let fact = fact_of(id, Seq(seq), line.bytes())?;
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
