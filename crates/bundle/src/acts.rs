//! Acts of people in a session beside their answers: pauses, and ends of standing leaves.

use recount::session::{
    Actor, Event, Fact, LeaveRevoked, Observation, Paused, Seq, SessionId, Timestamp, Unpaused,
};

/// An act of a person in a session that answers no request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// The session.
    pub session: SessionId,
    /// The seq of the record.
    pub seq: Seq,
    /// The time of the record.
    pub at: Timestamp,
    /// The act.
    pub did: Did,
}

/// The acts of people in a session that answer no request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Did {
    /// Calls of the session were held. A pause of more than one session is in the journal's own
    /// stream, and is no act here.
    Paused(Paused),
    /// A pause of the session ended.
    Unpaused(Unpaused),
    /// A standing leave was revoked.
    Revoked(LeaveRevoked),
}

impl Act {
    /// Returns the act that a record is, if it is one.
    pub(crate) fn of(session: SessionId, fact: &Fact) -> Option<Act> {
        let Event::Observed(observation) = &fact.event else {
            return None;
        };
        let did = if let Observation::Paused(it) = observation {
            it.journal_record.is_none().then(|| Did::Paused(it.clone()))
        } else if let Observation::Unpaused(it) = observation {
            it.journal_record
                .is_none()
                .then(|| Did::Unpaused(it.clone()))
        } else if let Observation::LeaveRevoked(it) = observation {
            Some(Did::Revoked(it.clone()))
        } else {
            None
        };
        let (seq, at) = (fact.seq, fact.at);
        did.map(|did| Act {
            session,
            seq,
            at,
            did,
        })
    }

    /// Returns the actor.
    #[must_use]
    pub fn by(&self) -> &Actor {
        match &self.did {
            Did::Paused(it) => &it.by,
            Did::Unpaused(it) => &it.by,
            Did::Revoked(it) => &it.by,
        }
    }

    /// Returns the reason.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match &self.did {
            Did::Paused(it) => it.reason.as_deref(),
            Did::Unpaused(it) => it.reason.as_deref(),
            Did::Revoked(it) => it.reason.as_deref(),
        }
    }
}
