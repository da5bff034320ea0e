//! Conversion between facts and lines of the journal. The layers above do not know whether a body
//! is sealed.

use std::ops::Range;

use recount_journal::seal::{self, SealedBody, SessionKey};
use recount_journal::{Draft, Hash, Line, Malformed, Outline, Record};
use serde::ser::Error as _;
use uuid::Uuid;

use super::Error;
use super::seal::{Seal, addresses};
use super::terms_on_record::newer_rules_in;
use crate::session::{Actor, ActorKind, DecodeError, Event, Fact, Seq, SessionId, Timestamp};

/// Returns an opaque reference that tells the persons of a session apart in the envelope.
///
/// Only the body contains the name. In a sealed session the reference is derived from the session's
/// key, so that names cannot be guessed and compared.
pub fn actor_reference(session: SessionId, actor: &Actor) -> String {
    Uuid::new_v5(&session.0, format!("actor:{}", actor.name).as_bytes()).to_string()
}

/// Serializes `fact` as a line after the record with the hash `prev`. `room` is a reusable buffer
/// for the body.
pub(super) fn line_of(
    session: SessionId,
    fact: &Fact,
    prev: Hash,
    seal: &Seal,
    room: &mut Vec<u8>,
) -> Result<Line, Error> {
    let key = seal.of_bodies(session)?;
    let unwritable = |source| Error::Unwritable { session, source };
    room.clear();
    fact.event.write_body(room).map_err(unwritable)?;
    let body =
        str::from_utf8(room).map_err(|error| unwritable(serde_json::Error::custom(error)))?;
    let (kind, by, named) = match &fact.event {
        Event::Observed(observation) => {
            let named = addresses(&observation.objects());
            (observation.actor(), observation.by(), named)
        }
        Event::Decided(_) => (ActorKind::Engine, None, Vec::new()),
    };
    let mut actor = recount_journal::Actor::new(kind.as_str());
    if let Some(by) = by {
        actor = actor.with_reference(match key {
            Some(key) => key.reference(&by.name).to_string(),
            None => actor_reference(session, by),
        });
    }
    let draft = Draft {
        session: session.0,
        seq: fact.seq.0,
        at_us: fact.at.0,
        kind: fact.event.kind(),
        cause: fact.cause.map(|cause| cause.0),
        actor,
        body,
        prev,
    };
    match key {
        Some(key) => Ok(seal::line(key, &draft, &named)?),
        None => Ok(draft.line()),
    }
}

/// Returns the hashes of the objects that a record names, which must precede it in the journal.
///
/// Empty if the record holds no valid event.
pub fn objects_named(record: &Record<'_>) -> Vec<Hash> {
    // Most records contain no hash. This scan recognizes them without parsing the event.
    let mut runs = record.body.get().split(|c: char| !c.is_ascii_hexdigit());
    if !runs.any(|run| run.len() == 64) {
        return Vec::new();
    }
    if let Ok(Some(sealed)) = SealedBody::of(record) {
        return sealed.objects;
    }
    let Ok(Event::Observed(observation)) = Event::decode(record.kind, record.body.get()) else {
        return Vec::new();
    };
    addresses(&observation.objects())
}

/// Parses the fact on `line`, whose body must be in clear.
///
/// # Errors
/// [`Error::Malformed`] if the line is not a record, [`Error::Unreadable`] if it holds no valid
/// event, [`Error::NewerRules`] if it is of an unknown kind and names newer rules,
/// [`Error::Sealed`] if its body is sealed.
pub fn fact_of(session: SessionId, seq: Seq, line: &[u8]) -> Result<Fact, Error> {
    let outline = outline_of(session, seq, line)?;
    if SealedBody::is_one(outline.body) {
        return Err(Error::Sealed { session });
    }
    let event = match Event::decode(outline.kind, outline.body) {
        Ok(event) => event,
        Err(source) => decoded_whole(session, seq, line, outline.body, source)?,
    };
    Ok(Fact {
        seq: Seq(outline.seq),
        at: Timestamp(outline.at_us),
        cause: outline.cause.map(Seq),
        event,
    })
}

/// Parses the whole line after its outline gave no valid event.
///
/// The outline ends at the body, so it misses keys that a later version wrote after the body.
/// Otherwise returns the error for the line.
fn decoded_whole(
    session: SessionId,
    seq: Seq,
    line: &[u8],
    tried: &str,
    source: DecodeError,
) -> Result<Event, Error> {
    let record = record_of(session, seq, line)?;
    let body = record.body.get();
    if body == tried {
        return Err(undecoded(session, seq, body, source));
    }
    Event::decode(record.kind, body).map_err(|source| undecoded(session, seq, body, source))
}

/// Returns the error for a body that holds no valid event. A body of an unknown kind may name the
/// rules that it needs.
fn undecoded(session: SessionId, seq: Seq, body: &str, source: DecodeError) -> Error {
    let rules = match &source {
        DecodeError::UnknownKind(_) => newer_rules_in(body),
        DecodeError::Body { .. } => None,
    };
    match rules {
        Some(rules) => Error::NewerRules {
            session,
            seq,
            rules,
        },
        None => Error::Unreadable {
            session,
            seq,
            source,
        },
    }
}

/// A stored record, with its body if that is in clear or decrypted.
#[derive(Debug)]
pub struct Entry {
    /// The session.
    pub session: SessionId,
    /// The record's seq.
    pub seq: Seq,
    /// The record as stored.
    pub line: Line,
    at: Timestamp,
    cause: Option<Seq>,
    kind: Range<usize>,
    body: Body,
}

enum Body {
    /// The range of the body in the line.
    Clear(Range<usize>),
    Opened(String),
    Sealed,
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Debug output must not reveal a sealed body.
        f.write_str(match self {
            Body::Clear(_) => "clear",
            Body::Opened(_) => "opened",
            Body::Sealed => "sealed",
        })
    }
}

impl Entry {
    /// Parses `line` and decrypts its body if it is sealed and `key` is given.
    pub(super) fn read(
        session: SessionId,
        seq: Seq,
        line: Line,
        key: Option<&SessionKey>,
    ) -> Result<Entry, Error> {
        let outline = outline_of(session, seq, line.bytes())?;
        let body = if SealedBody::is_one(outline.body) {
            let record = record_of(session, seq, line.bytes())?;
            match (SealedBody::of(&record)?, key) {
                (None, _) => Body::Clear(place(line.bytes(), outline.body)),
                (Some(sealed), Some(key)) => Body::Opened(sealed.open(key)?),
                (Some(_), None) => Body::Sealed,
            }
        } else {
            Body::Clear(place(line.bytes(), outline.body))
        };
        Ok(Entry {
            session,
            seq,
            at: Timestamp(outline.at_us),
            cause: outline.cause.map(Seq),
            kind: place(line.bytes(), outline.kind),
            body,
            line,
        })
    }

    /// Creates an entry from a record that another process read and, if sealed, decrypted.
    ///
    /// # Errors
    /// [`Error::Malformed`] if `line` is not a record, [`Error::Seal`] if its body is neither in
    /// clear nor sealed.
    pub fn relayed(
        session: SessionId,
        seq: Seq,
        line: Line,
        opened: Option<String>,
    ) -> Result<Entry, Error> {
        // The journal of this process has not checked the line.
        record_of(session, seq, line.bytes())?;
        let read = Entry::read(session, seq, line, None)?;
        let body = match (read.body, opened) {
            (Body::Sealed, Some(body)) => Body::Opened(body),
            (as_stored, _) => as_stored,
        };
        Ok(Entry { body, ..read })
    }

    /// True if the stored body is sealed.
    pub fn is_sealed(&self) -> bool {
        match self.body {
            Body::Clear(_) => false,
            Body::Opened(_) | Body::Sealed => true,
        }
    }

    /// The time of the record.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// The seq of the record that caused this one.
    pub fn cause(&self) -> Option<Seq> {
        self.cause
    }

    /// The kind, as the journal spells it.
    pub fn kind(&self) -> &str {
        self.text(&self.kind)
    }

    fn text(&self, place: &Range<usize>) -> &str {
        // The range was taken from this line, which is UTF-8 there.
        let bytes = self.line.bytes().get(place.clone()).unwrap_or_default();
        str::from_utf8(bytes).unwrap_or_default()
    }

    /// The leaf hash of the record, which the next record names.
    pub fn hash(&self) -> Hash {
        Hash::of_line(self.line.bytes())
    }

    /// Returns the envelope and the stored body.
    ///
    /// # Errors
    /// None for entries that were read from a journal.
    pub fn record(&self) -> Result<Record<'_>, Error> {
        record_of(self.session, self.seq, self.line.bytes())
    }

    /// Returns the body in clear, byte for byte.
    ///
    /// # Errors
    /// [`Error::Sealed`] if the body is sealed and the key is not available.
    pub fn body(&self) -> Result<&str, Error> {
        let session = self.session;
        match &self.body {
            Body::Clear(place) => Ok(self.text(place)),
            Body::Opened(body) => Ok(body),
            Body::Sealed => Err(Error::Sealed { session }),
        }
    }

    /// True if `bytes` equals the body.
    ///
    /// # Errors
    /// As for [`body`](Entry::body).
    pub(crate) fn has_body(&self, bytes: &[u8]) -> Result<bool, Error> {
        match &self.body {
            Body::Clear(place) => Ok(self.line.bytes().get(place.clone()) == Some(bytes)
                || self.record()?.body.get().as_bytes() == bytes),
            Body::Opened(_) | Body::Sealed => Ok(self.body()?.as_bytes() == bytes),
        }
    }

    /// True if the body can be read and names no rules that only a newer program knows. For records
    /// of unknown kinds.
    pub(super) fn is_of_rules_known_here(&self) -> bool {
        self.body().is_ok_and(|body| newer_rules_in(body).is_none())
    }

    /// Parses the fact.
    ///
    /// # Errors
    /// As for [`fact_of`].
    pub fn fact(&self) -> Result<Fact, Error> {
        let body = self.body()?;
        let event = match (Event::decode(self.kind(), body), &self.body) {
            (Ok(event), _) => event,
            (Err(source), Body::Clear(_)) => {
                decoded_whole(self.session, self.seq, self.line.bytes(), body, source)?
            }
            (Err(source), Body::Opened(_) | Body::Sealed) => {
                return Err(undecoded(self.session, self.seq, body, source));
            }
        };
        Ok(Fact {
            seq: self.seq,
            at: self.at,
            cause: self.cause,
            event,
        })
    }
}

/// Returns the range of `part` within `line`, from which it is borrowed.
fn place(line: &[u8], part: &str) -> Range<usize> {
    // `part` is borrowed from `line`, so it begins within it.
    let start = (part.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    start..start + part.len()
}

fn outline_of(session: SessionId, seq: Seq, line: &[u8]) -> Result<Outline<'_>, Error> {
    let malformed = |source: Malformed| Error::Malformed {
        session,
        seq,
        source,
    };
    Outline::of(line).map_err(malformed)
}

fn record_of(session: SessionId, seq: Seq, line: &[u8]) -> Result<Record<'_>, Error> {
    let malformed = |source: Malformed| Error::Malformed {
        session,
        seq,
        source,
    };
    Record::parse(line).map_err(malformed)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use recount_journal::RECORD_LIMIT;

    use super::*;
    use crate::session::{Observation, UserTextSent, fits};

    #[test]
    fn largest_fitting_body_fits_the_journal_when_sealed() {
        let session = SessionId(Uuid::from_u128(7));
        let sent = |length: usize| {
            let (epoch, text) = (Seq(1), "a".repeat(length));
            fits(Observation::from(UserTextSent { epoch, text }))
        };
        let (mut fit, mut unfit) = (0, RECORD_LIMIT);
        while unfit - fit > 1 {
            let middle = fit.midpoint(unfit);
            match sent(middle) {
                Ok(_) => fit = middle,
                Err(_) => unfit = middle,
            }
        }
        let fact = Fact {
            seq: Seq(2),
            at: Timestamp(1),
            cause: Some(Seq(1)),
            event: Event::Observed(sent(fit).unwrap()),
        };
        let seal = Seal {
            key: Some(SessionKey::generate(session.0).unwrap()),
            bodies: true,
        };
        let line = line_of(session, &fact, Hash::ZERO, &seal, &mut Vec::new()).unwrap();
        let length = line.bytes().len();
        assert!(
            (RECORD_LIMIT - 8_192..=RECORD_LIMIT).contains(&length),
            "{length} of {RECORD_LIMIT}"
        );
    }
}
