//! One fact as one line of the journal, and back.

use recount_journal::{Draft, Hash, Line};
use uuid::Uuid;

use super::Error;
use crate::session::{Actor, ActorKind, DecodeError, Event, Fact, Seq, SessionId, Timestamp};

/// The opaque reference by which the envelope tells one person of a session from another.
///
/// The name itself stands in the body only, which can be sealed; the reference says nothing without it.
pub fn actor_reference(session: SessionId, actor: &Actor) -> String {
    Uuid::new_v5(&session.0, format!("actor:{}", actor.name).as_bytes()).to_string()
}

/// The line of `fact`, whose predecessor hashes to `prev`.
pub(super) fn line_of(session: SessionId, fact: &Fact, prev: Hash) -> Result<Line, Error> {
    let body = fact
        .event
        .body()
        .map_err(|source| Error::Unwritable { session, source })?;
    let (kind, by) = match &fact.event {
        Event::Observed(observation) => {
            let from = observation.provenance();
            (from.actor, from.by)
        }
        Event::Decided(_) => (ActorKind::Engine, None),
    };
    let mut actor = recount_journal::Actor::new(kind.as_str());
    if let Some(by) = by {
        actor = actor.with_reference(actor_reference(session, by));
    }
    let draft = Draft {
        session: session.0,
        seq: fact.seq.0,
        at_us: fact.at.0,
        kind: fact.event.kind(),
        cause: fact.cause.map(|cause| cause.0),
        actor,
        body: &body,
        prev,
    };
    Ok(draft.line())
}

/// The objects that a record names and that must stand before it; none where no event is of its kind and shape.
pub fn objects_named(record: &recount_journal::Record<'_>) -> Vec<Hash> {
    // Most records hold no hash at all, which is told without reading them as events.
    let mut runs = record.body.get().split(|c: char| !c.is_ascii_hexdigit());
    if !runs.any(|run| run.len() == 64) {
        return Vec::new();
    }
    let Ok(Event::Observed(observation)) = Event::decode(record.kind, record.body.get()) else {
        return Vec::new();
    };
    let named = observation.objects().into_iter();
    named
        .map(|hash| Hash::from_bytes(*hash.as_bytes()))
        .collect()
}

/// The fact on `line`.
///
/// # Errors
/// [`Error::Malformed`] where the line is no record, [`Error::Unreadable`] where no event is of its kind and shape.
pub fn fact_of(session: SessionId, seq: Seq, line: &[u8]) -> Result<Fact, Error> {
    let record = recount_journal::Record::parse(line).map_err(|source| Error::Malformed {
        session,
        seq,
        source,
    })?;
    let unreadable = |source: DecodeError| Error::Unreadable {
        session,
        seq,
        source,
    };
    Ok(Fact {
        seq: Seq(record.seq),
        at: Timestamp(record.at_us),
        cause: record.cause.map(Seq),
        event: Event::decode(record.kind, record.body.get()).map_err(unreadable)?,
    })
}
