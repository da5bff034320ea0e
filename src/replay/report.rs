//! The result of a replay, and its first divergence.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::state_view::{state_json, state_json_about};
use crate::session::{Event, Fact, Json, Seq, Session, SessionId, Timestamp};

/// The result of a replay.
///
/// ```json
/// {"session":"0199…","observations":12,"decisions":31,
///  "diverged":{"seq":9,
///   "recorded":{"kind":"call_ready","body":{"call":6},"cause":8},
///   "derived":null,
///   "causes":[{"seq":8,"at_us":1763980000000000,"kind":"policy_decided","cause":6,"body":{…}}],
///   "before":{…}}}
/// ```
///
/// `before` is the state of the calls that both sides are about, or the whole state if there is no
/// such call.
#[derive(Clone, Debug, PartialEq, Serialize)]
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

/// A divergence in JSON.
#[derive(Serialize)]
struct DivergedJson<'d> {
    seq: Seq,
    recorded: Option<SaidJson<'d>>,
    derived: Option<SaidJson<'d>>,
    causes: Vec<CauseJson>,
    before: Json,
}

#[derive(Serialize)]
struct SaidJson<'d> {
    kind: &'d str,
    body: &'d RawValue,
    cause: Option<Seq>,
}

#[derive(Serialize)]
struct CauseJson {
    seq: Seq,
    at_us: Timestamp,
    kind: &'static str,
    cause: Option<Seq>,
    body: Box<RawValue>,
}

impl Serialize for Diverged {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = DivergedJson {
            seq: self.seq,
            recorded: self.recorded.as_ref().map(SaidJson::of),
            derived: self.derived.as_ref().map(SaidJson::of),
            causes: self.causes.iter().map(CauseJson::of).collect(),
            before: self.state_before(),
        };
        json.serialize(serializer)
    }
}

impl<'d> SaidJson<'d> {
    fn of(said: &'d Said) -> SaidJson<'d> {
        SaidJson {
            kind: said.kind,
            // Both a recorded body and one of this replay are JSON.
            body: serde_json::from_str(&said.body).unwrap_or(RawValue::NULL),
            cause: said.cause,
        }
    }
}

impl CauseJson {
    fn of(fact: &Fact) -> CauseJson {
        let body = fact.event.body().and_then(RawValue::from_string);
        CauseJson {
            seq: fact.seq,
            at_us: fact.at,
            kind: fact.event.kind(),
            cause: fact.cause,
            body: body.unwrap_or_else(|_| RawValue::NULL.to_owned()),
        }
    }
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

    /// The state before the divergence: of the calls that both sides are about, or the whole.
    pub fn state_before(&self) -> Json {
        match self.calls().as_slice() {
            [] => state_json(&self.before),
            calls => state_json_about(&self.before, calls),
        }
    }
}
