//! What came of telling a session again, and where two stories part.

use crate::session::{Event, Fact, Seq, Session, SessionId};

/// What came of telling a session again.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The session.
    pub session: SessionId,
    /// How many observations were decided again.
    pub observations: u64,
    /// How many decisions came out as recorded.
    pub decisions: u64,
    /// Where the two stories part, if they do.
    pub diverged: Option<Diverged>,
}

/// The first place where what is on record is not what follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Diverged {
    /// The place.
    pub seq: Seq,
    /// What stands there.
    pub recorded: Option<Said>,
    /// What follows from what stands before it; none where nothing more follows.
    pub derived: Option<Said>,
    /// The session as of the record before, up to which everything followed.
    pub before: Box<Session>,
    /// The records that led there, each the cause of the next: from the first, such as the call
    /// that was received, to the one that directly led there. Of what follows; of what is on record
    /// where nothing follows.
    pub causes: Vec<Fact>,
}

/// An event as the journal spells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its kind.
    pub kind: &'static str,
    /// Its body, as JSON text: on record, the exact bytes, opened where they are sealed.
    pub body: String,
    /// The record that directly led here.
    pub cause: Option<Seq>,
    /// The call that it is about, where it is a decision about one.
    pub call: Option<Seq>,
}

impl Said {
    pub(super) fn new(event: &Event, body: String, cause: Option<Seq>) -> Said {
        Said {
            kind: event.kind(),
            body,
            cause,
            call: match event {
                Event::Decided(decision) => decision.call(),
                Event::Observed(_) => None,
            },
        }
    }
}

impl Diverged {
    /// The calls that either side is about, the recorded one first.
    pub fn calls(&self) -> Vec<Seq> {
        let sides = self.recorded.iter().chain(&self.derived);
        let mut calls: Vec<Seq> = sides.filter_map(|it| it.call).collect();
        calls.dedup();
        calls
    }
}
