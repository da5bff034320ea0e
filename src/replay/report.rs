//! The result of a replay, and its first divergence.

use crate::session::{Event, Fact, Seq, Session, SessionId};

/// The result of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The session.
    pub session: SessionId,
    /// The number of observations that were decided again.
    pub observations: u64,
    /// The number of decisions that matched the record.
    pub decisions: u64,
    /// The first divergence, if there is one.
    pub diverged: Option<Diverged>,
}

/// The first place at which the record differs from the derived decisions.
#[derive(Clone, Debug, PartialEq)]
pub struct Diverged {
    /// The seq of the divergence.
    pub seq: Seq,
    /// The recorded event. `None` if the record ends there.
    pub recorded: Option<Said>,
    /// The decision that follows from the records before. `None` if no decision is due.
    pub derived: Option<Said>,
    /// The session as of the record before, which still matched.
    pub before: Box<Session>,
    /// The records that led there, each the cause of the next. They begin with the first cause,
    /// such as the received call, and end with the direct one. They are the causes of the derived
    /// decision, or of the recorded event if no decision is due.
    pub causes: Vec<Fact>,
}

/// An event, with its body as in the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The kind of the event.
    pub kind: &'static str,
    /// The body, as JSON text. For a recorded event these are the exact bytes, with sealed values
    /// opened.
    pub body: String,
    /// The record that directly caused the event.
    pub cause: Option<Seq>,
    /// The call of the event, if it is a decision about a call.
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
    /// The calls of both sides, the recorded one first.
    pub fn calls(&self) -> Vec<Seq> {
        let sides = self.recorded.iter().chain(&self.derived);
        let mut calls: Vec<Seq> = sides.filter_map(|it| it.call).collect();
        calls.dedup();
        calls
    }
}
