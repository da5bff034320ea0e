//! The sessions of a journal that could not be read. The sessions after them are still replayed.

use serde_json::json;

use crate::failures::{Exit, Failure, SEALED_ADVICE};
use crate::terminal::{Screen, Tone};
use recount::session::SessionId;
use recount_telling::count;

/// The sessions that could not be read so far.
pub(crate) struct Unread {
    /// The number of all sessions.
    of: usize,
    all: Vec<(SessionId, Failure)>,
}

impl Unread {
    pub(crate) fn of(sessions: usize) -> Unread {
        let all = Vec::new();
        Unread { of: sessions, all }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Shows why a session could not be read.
    pub(crate) fn show(
        &mut self,
        session: SessionId,
        failure: Failure,
        as_json: bool,
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        let (code, what) = (failure.code.as_ref(), failure.what.as_str());
        if as_json {
            screen.json(&json!({"session": session, "error": {"code": code, "what": what}}))?;
        } else if self.of > 1 {
            screen.toned(Tone::Bad, &format!("Session {session} not read: {what}"))?;
        }
        self.all.push((session, failure));
        Ok(())
    }

    /// The failure with which the program ends: the first one stands for all.
    pub(crate) fn end(self, done: &str) -> Result<(), Failure> {
        let (left, of) = (self.all.len(), self.of);
        let Some((session, mut failure)) = self.all.into_iter().next() else {
            return Ok(());
        };
        if of > 1 {
            let what = failure.what;
            failure.what =
                format!("{left} of {of} sessions not {done}; the first is {session}: {what}");
        }
        Err(failure)
    }
}

/// An error if sessions are sealed. `done` says what was not done with them, such as replayed.
pub(super) fn all_open(sealed: &[SessionId], done: &str) -> Result<(), Failure> {
    let Some(first) = sealed.first() else {
        return Ok(());
    };
    let sealed = count(sealed.len(), "session");
    let what =
        format!("{sealed} not {done}: sealed, and the key is not here; the first is {first}");
    Err(Failure::new("sealed", what)
        .exit(Exit::Sealed)
        .advice(SEALED_ADVICE))
}
