//! The checks of an append: first by itself, on the caller's thread, then against the head of its
//! stream.

use recount_text::json::strict::{self, What};
use uuid::Uuid;

use super::limits::{APPEND_LIMIT, DEPTH_LIMIT, LINE_DEPTH, OBJECT_LIMIT, RECORD_LIMIT};
use super::line::Place;
use crate::{Append, Error, Hash, Head, Line, Object, OpenItem, WorkChange};

/// The conditions under which a well-formed append may follow its stream.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    session: Uuid,
    expected: u64,
    /// The predecessor hash in the first record.
    pub prev: Hash,
    /// The time of the first record, in microseconds since 1970.
    pub at_us: i64,
    /// The head of the stream after the append.
    pub head: Head,
}

impl Admission {
    /// Checks the append by itself: envelopes, seqs, chain, times, objects, sizes.
    pub fn of(append: &Append) -> Result<Self, Error> {
        sizes(append)?;
        let session = append.session;
        let refused = |seq: u64, what: String| Error::Refused { session, seq, what };
        let mut start = None;
        let mut last = Head {
            seq: append.expected,
            hash: Hash::ZERO,
            at_us: i64::MIN,
        };
        for line in &append.lines {
            let seq = last.seq.saturating_add(1);
            let place = match line.place() {
                Some(place) => *place,
                None => place_of(line, session, seq)?,
            };
            if place.session != session || place.seq != seq {
                let what = format!(
                    "the record says session {} seq {}",
                    place.session, place.seq
                );
                return Err(refused(seq, what));
            }
            if start.is_some() && place.prev != last.hash {
                return Err(Error::BrokenChain {
                    session,
                    seq,
                    expected: last.hash,
                    found: place.prev,
                });
            }
            if place.at_us < last.at_us {
                return Err(refused(
                    seq,
                    "its time is before that of the record before".to_owned(),
                ));
            }
            start.get_or_insert((place.prev, place.at_us));
            last = Head {
                seq,
                hash: line.leaf(),
                at_us: place.at_us,
            };
        }
        let first = append.expected.saturating_add(1);
        let Some((prev, at_us)) = start else {
            return Err(refused(first, "it has no records".to_owned()));
        };
        attached(append, first)?;
        Ok(Self {
            session,
            expected: append.expected,
            prev,
            at_us,
            head: last,
        })
    }

    /// Checks the append against the head of its stream.
    pub fn follows(&self, head: Option<&Head>) -> Result<(), Error> {
        let session = self.session;
        let (seq, hash, at_us) = head.map_or((0, Hash::ZERO, i64::MIN), |head| {
            (head.seq, head.hash, head.at_us)
        });
        let first = self.expected.saturating_add(1);
        if self.expected != seq {
            return Err(Error::Conflict {
                session,
                expected: self.expected,
                actual: seq,
            });
        }
        if self.prev != hash {
            return Err(Error::BrokenChain {
                session,
                seq: first,
                expected: hash,
                found: self.prev,
            });
        }
        if self.at_us < at_us {
            let what = "its time is before that of the record before".to_owned();
            return Err(Error::Refused {
                session,
                seq: first,
                what,
            });
        }
        Ok(())
    }
}

/// Reads a line that the caller made in another way, and checks that it can be read back.
fn place_of(line: &Line, session: Uuid, seq: u64) -> Result<Place, Error> {
    let refused = |what: String| Error::Refused { session, seq, what };
    let record = line.record().map_err(|malformed| refused(malformed.what))?;
    read_back(line.bytes(), session, seq)?;
    Ok(Place::of(&record))
}

/// Checks that every reader can read a record back, with the same result.
pub(crate) fn read_back(line: &[u8], session: Uuid, seq: u64) -> Result<(), Error> {
    let refused = |what: String| Error::Refused { session, seq, what };
    let text = str::from_utf8(line).map_err(|error| refused(error.to_string()))?;
    strict::check_line(text, LINE_DEPTH).map_err(|flaw| match flaw.what {
        What::Syntax => refused(format!("it is not JSON on one line at byte {}", flaw.at)),
        What::TooDeep => Error::TooDeep {
            session,
            seq,
            limit: DEPTH_LIMIT,
        },
        What::Unreadable(what) => Error::Unreadable {
            session,
            seq,
            at: flaw.at,
            what,
        },
    })
}

/// Checks the objects and the changes of open work of an append.
fn attached(append: &Append, first: u64) -> Result<(), Error> {
    let session = append.session;
    let refused = |what: String| Error::Refused {
        session,
        seq: first,
        what,
    };
    for Object { hash, bytes } in &append.objects {
        let actual = Hash::of_object(bytes);
        if actual != *hash {
            return Err(refused(format!(
                "the object under {hash} hashes to {actual}"
            )));
        }
    }
    for change in &append.open_work {
        let (owner, kind) = match change {
            WorkChange::Put(OpenItem { session, kind, .. }) => (session, kind.as_str()),
            WorkChange::Remove { session, .. } => (session, ""),
        };
        if *owner != session || kind.len() > 255 {
            return Err(refused(format!(
                "open work of session {owner} with a kind of {} bytes",
                kind.len()
            )));
        }
    }
    Ok(())
}

fn sizes(append: &Append) -> Result<(), Error> {
    let mut total = 0_usize;
    let lines = append
        .lines
        .iter()
        .map(|line| ("a record", line.bytes().len(), RECORD_LIMIT));
    let objects = append
        .objects
        .iter()
        .map(|object| ("an object", object.bytes.len(), OBJECT_LIMIT));
    for (what, size, limit) in lines.chain(objects) {
        if size > limit {
            return Err(Error::TooLarge { what, size, limit });
        }
        total = total.saturating_add(size).saturating_add(64);
    }
    total = total.saturating_add(append.open_work.len().saturating_mul(320));
    if total > APPEND_LIMIT {
        return Err(Error::TooLarge {
            what: "an append",
            size: total,
            limit: APPEND_LIMIT,
        });
    }
    Ok(())
}
