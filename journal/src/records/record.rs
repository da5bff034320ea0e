//! The reader of a record: one line of JSON, stored and hashed as those exact bytes.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::{plain_line, timestamp};
use crate::{Hash, Malformed};

/// The version of the envelope that this crate writes and reads.
pub(crate) const ENVELOPE_VERSION: u32 = 1;

/// The actor of an event: a kind in clear text, and an opaque reference.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq)]
pub struct Actor {
    /// The kind, for example `engine`, `model`, `person`.
    pub kind: Cow<'static, str>,
    /// An opaque id that identifies a person only together with other data. Names and addresses
    /// belong in the body.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

impl Actor {
    /// An actor without a reference.
    pub fn new(kind: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind: kind.into(),
            reference: None,
        }
    }

    /// Returns the same actor with a reference.
    #[must_use]
    pub fn with_reference(self, reference: impl Into<String>) -> Self {
        Self {
            reference: Some(reference.into()),
            ..self
        }
    }
}

/// A parsed record: the envelope is parsed strictly, the body is not parsed.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// The version of the envelope.
    pub v: u32,
    /// The stream.
    pub session: Uuid,
    /// The place in the stream, from 1.
    pub seq: u64,
    /// Microseconds since 1970.
    pub at_us: i64,
    /// The kind of the event.
    pub kind: &'a str,
    /// The seq of the record that directly led to this one.
    pub cause: Option<u64>,
    /// The actor that caused the event.
    pub actor: Actor,
    /// The body as it was written.
    pub body: &'a RawValue,
    /// The leaf hash of the previous record.
    pub prev: Hash,
}

impl<'a> Record<'a> {
    /// Parses a line. It tolerates unknown envelope keys. Everything else must be as
    /// [`Draft::line`](crate::Draft::line) writes it.
    ///
    /// The body must be JSON. The stricter rules for reading it back apply only to an append, so
    /// that every stored record stays readable.
    ///
    /// # Errors
    /// Fails if the bytes are not a record; the error names the expected and the found value.
    pub fn parse(line: &'a [u8]) -> Result<Self, Malformed> {
        let text = str::from_utf8(line)
            .map_err(|error| Malformed::new(format!("it is not UTF-8: {error}")))?;
        match plain_line::read(text) {
            Some(record) => Ok(record),
            None => Self::parse_any(text),
        }
    }

    /// Parses any record, with a full JSON parser.
    fn parse_any(text: &'a str) -> Result<Self, Malformed> {
        if !text.starts_with('{') || !text.ends_with('}') || text.contains(['\n', '\r']) {
            return Err(Malformed::new("it is not one line of JSON from `{` to `}`"));
        }
        let envelope: Envelope<'a> =
            serde_json::from_str(text).map_err(|error| Malformed::new(error.to_string()))?;
        let expected =
            |what: &str, found: &str| Malformed::new(format!("expected {what}, found {found:?}"));
        if envelope.v != ENVELOPE_VERSION {
            return Err(expected("envelope version 1", &envelope.v.to_string()));
        }
        if envelope.seq == 0
            || envelope
                .cause
                .is_some_and(|cause| cause == 0 || cause >= envelope.seq)
        {
            return Err(expected(
                "a seq from 1 and a cause before it",
                &format!("seq {}, cause {:?}", envelope.seq, envelope.cause),
            ));
        }
        if envelope.kind.is_empty() {
            return Err(expected("a kind", ""));
        }
        let session = Uuid::try_parse(envelope.session)
            .ok()
            .filter(|id| {
                *id.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == *envelope.session
            })
            .ok_or_else(|| expected("a hyphenated lower-case UUID as session", envelope.session))?;
        let at_us = timestamp::read(envelope.at)
            .ok_or_else(|| expected("a time like 2026-11-20T14:03:07.112345Z", envelope.at))?;
        let prev = envelope
            .prev
            .parse()
            .map_err(|_| expected("64 lower-case hex digits as prev", envelope.prev))?;
        let Envelope {
            v,
            seq,
            kind,
            cause,
            actor,
            body,
            ..
        } = envelope;
        Ok(Self {
            v,
            session,
            seq,
            at_us,
            kind,
            cause,
            actor,
            body,
            prev,
        })
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    v: u32,
    session: &'a str,
    seq: u64,
    at: &'a str,
    kind: &'a str,
    #[serde(default, deserialize_with = "present")]
    cause: Option<u64>,
    actor: Actor,
    #[serde(borrow)]
    body: &'a RawValue,
    prev: &'a str,
}

/// Rejects `null`: a cause is absent or a number.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    u64::deserialize(deserializer).map(Some)
}

#[cfg(test)]
#[expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise"
)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Draft, Outline};

    fn draft() -> Draft<'static> {
        Draft {
            session: Uuid::from_u128(0x0193_4c1f_0000_7000_8000_0000_0000_0001),
            seq: 42,
            at_us: 1_795_183_387_112_345,
            kind: "confirmation_requested",
            cause: Some(41),
            actor: Actor::new("engine"),
            body: r#"{"x": 1.0}"#,
            prev: Hash::ZERO,
        }
    }

    #[test]
    fn draft_writes_exact_bytes() {
        let zeros = "0".repeat(64);
        let session = "01934c1f-0000-7000-8000-000000000001";
        assert_eq!(
            String::from_utf8_lossy(draft().line().bytes()),
            [
                format!(r#"{{"v":1,"session":"{session}","seq":42,"#).as_str(),
                r#""at":"2026-11-20T14:03:07.112345Z","kind":"confirmation_requested","#,
                r#""cause":41,"actor":{"kind":"engine"},"body":{"x": 1.0},"#,
                format!(r#""prev":"{zeros}"}}"#).as_str(),
            ]
            .concat()
        );
        let person = Draft {
            cause: None,
            actor: Actor::new("person").with_reference("p\"1"),
            ..draft()
        }
        .line();
        assert!(String::from_utf8_lossy(person.bytes()).contains(
            r#""kind":"confirmation_requested","actor":{"kind":"person","ref":"p\"1"},"body""#
        ));
        assert_eq!(
            person.record().unwrap().actor.reference.as_deref(),
            Some("p\"1")
        );
    }

    #[test]
    fn line_is_read_back() {
        let line = draft().line();
        let record = line.record().unwrap();
        assert_eq!(
            (record.v, record.session, record.seq, record.at_us),
            (1, draft().session, 42, draft().at_us)
        );
        assert_eq!(
            (record.kind, record.cause, record.prev),
            ("confirmation_requested", Some(41), Hash::ZERO)
        );
        assert_eq!(
            (record.actor, record.body.get()),
            (Actor::new("engine"), r#"{"x": 1.0}"#)
        );
    }

    #[test]
    fn the_envelope_is_strict_and_unknown_keys_are_tolerated() {
        let good = String::from_utf8(draft().line().bytes().to_vec()).unwrap();
        let refuse = |from: &str, to: &str| {
            assert!(good.contains(from), "{from}");
            assert!(
                Record::parse(good.replacen(from, to, 1).as_bytes()).is_err(),
                "{from} -> {to}"
            );
        };
        refuse("\"v\":1", "\"v\":2");
        refuse("\"seq\":42", "\"seq\":0");
        refuse("\"cause\":41", "\"cause\":42");
        refuse("\"cause\":41", "\"cause\":null");
        refuse("\"cause\":41", "\"seq\":42");
        refuse("01934c1f-0000", "01934C1F-0000");
        refuse("112345Z", "112Z");
        refuse("{\"x\": 1.0}", "{\"x\": 1.0");
        refuse("{\"x\": 1.0}", "{\"x\":\n1.0}");
        refuse("\"prev\":\"0", "\"prev\":\"g");
        let wider = good.replacen("\"v\":1", "\"v\":1,\"later\":{\"y\":[]}", 1);
        assert_eq!(Record::parse(wider.as_bytes()).unwrap().seq, 42);
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            6 => "[a-z_]{1,12}",
            1 => "[ -~]{0,8}",
            1 => any::<String>(),
        ]
    }

    fn line() -> impl Strategy<Value = Vec<u8>> {
        let body = prop_oneof![
            4 => Just(r#"{"call":5,"text":"x y","n":[1.5,null]}"#.to_owned()),
            1 => Just(r#" {"a":1,"a":2} "#.to_owned()),
            1 => Just(r#"{},"prev":"0""#.to_owned()),
            1 => Just(r#"{"a":1},"later":1"#.to_owned()),
            1 => Just("{\"a\":\n1}".to_owned()),
            1 => any::<String>(),
        ];
        let place = (
            any::<u128>(),
            0..9_u64,
            any::<i64>(),
            proptest::option::of(0..9_u64),
        );
        let words = (text(), text(), proptest::option::of(text()));
        (place, words, body, any::<[u8; 32]>()).prop_map(
            |((session, seq, at_us, cause), (kind, by, reference), body, prev)| {
                let mut actor = Actor::new(by);
                actor.reference = reference;
                let session = Uuid::from_u128(session);
                let prev = Hash::from_bytes(prev);
                let draft = Draft {
                    session,
                    seq,
                    at_us,
                    kind: &kind,
                    cause,
                    actor,
                    body: &body,
                    prev,
                };
                let line = draft.line();
                if let Some(place) = line.place() {
                    let read = Record::parse(line.bytes()).unwrap();
                    let found = (place.session, place.seq, place.at_us, place.prev);
                    assert_eq!(found, (read.session, read.seq, read.at_us, read.prev));
                }
                line.bytes().to_vec()
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 4_000,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn both_ways_of_reading_agree(
            mut line in line(),
            at in any::<prop::sample::Index>(),
            with in prop_oneof![
                prop::sample::select(&br#" {}[]":,\0189azA"#[..]),
                any::<u8>(),
            ],
            how in 0..6,
        ) {
            let at = at.index(line.len());
            match how {
                0 => line[at] = with,
                1 => line.insert(at, with),
                2 => drop(line.remove(at)),
                _ => {}
            }
            if let Ok(text) = str::from_utf8(&line) {
                let (quick, slow) = (Record::parse(&line), Record::parse_any(text));
                prop_assert_eq!(format!("{quick:?}"), format!("{slow:?}"));
                if let Ok(record) = slow {
                    let outline = Outline::of(&line).unwrap();
                    let Outline { seq, at_us, kind, cause, body } = outline;
                    let found = (seq, at_us, kind, cause, body);
                    let Record { seq, at_us, kind, cause, body, .. } = record;
                    prop_assert_eq!(found, (seq, at_us, kind, cause, body.get()));
                }
            }
        }
    }

    #[test]
    fn draft_is_read_by_fast_reader() {
        let with_all = Draft {
            actor: Actor::new("person").with_reference("p1"),
            ..draft()
        };
        for line in [draft().line(), with_all.line()] {
            let text = str::from_utf8(line.bytes()).unwrap();
            let read = plain_line::read(text).map(|record| format!("{record:?}"));
            assert_eq!(
                read,
                Some(format!("{:?}", Record::parse_any(text).unwrap()))
            );
            assert!(line.place().is_some());
        }
    }
}
