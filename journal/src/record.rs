//! A record is one line of JSON, kept and hashed as those exact bytes: how it is drafted, and how it is read.

use std::io::Write;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::timestamp;
use crate::{Hash, Malformed};

/// The version of the envelope this crate writes and reads.
const ENVELOPE_VERSION: u32 = 1;

/// Everything a record says, before it is bytes.
///
/// ```
/// use recount_journal::{Actor, Draft, Hash, Record};
/// use uuid::Uuid;
///
/// let line = Draft {
///     session: Uuid::from_u128(7), seq: 1, at_us: 0, kind: "session_opened", cause: None,
///     actor: Actor::new("engine"), body: r#"{"agent":"support"}"#, prev: Hash::ZERO,
/// }.line();
/// let record = Record::parse(line.bytes())?;
/// assert_eq!((record.kind, record.body.get()), ("session_opened", r#"{"agent":"support"}"#));
/// # Ok::<(), recount_journal::Malformed>(())
/// ```
#[derive(Clone, Debug)]
pub struct Draft<'a> {
    /// The stream.
    pub session: Uuid,
    /// The place in the stream, from 1.
    pub seq: u64,
    /// Microseconds since 1970; what the years 0 to 9999 cannot say is drawn to the nearest that they can.
    pub at_us: i64,
    /// What happened, as a short name.
    pub kind: &'a str,
    /// The seq of the record that directly led here.
    pub cause: Option<u64>,
    /// Who did it.
    pub actor: Actor,
    /// The body as JSON text, kept as it is.
    pub body: &'a str,
    /// The leaf hash of the record before, [`Hash::ZERO`] at first.
    pub prev: Hash,
}

impl Draft<'_> {
    /// Writes the line and takes its hash.
    pub fn line(&self) -> Line {
        let mut out = Vec::with_capacity(self.body.len() + 320);
        out.extend_from_slice(b"{\"v\":1,\"session\":\"");
        out.extend_from_slice(
            self.session
                .hyphenated()
                .encode_lower(&mut Uuid::encode_buffer())
                .as_bytes(),
        );
        // Writing into a vector cannot fail.
        let _infallible = write!(out, "\",\"seq\":{},\"at\":\"", self.seq);
        timestamp::write(&mut out, self.at_us);
        out.extend_from_slice(b"\",\"kind\":");
        quote(&mut out, self.kind);
        if let Some(cause) = self.cause {
            let _infallible = write!(out, ",\"cause\":{cause}");
        }
        out.extend_from_slice(b",\"actor\":{\"kind\":");
        quote(&mut out, &self.actor.kind);
        if let Some(reference) = &self.actor.reference {
            out.extend_from_slice(b",\"ref\":");
            quote(&mut out, reference);
        }
        out.extend_from_slice(b"},\"body\":");
        out.extend_from_slice(self.body.as_bytes());
        let _infallible = write!(out, ",\"prev\":\"{}\"}}", self.prev);
        Line::new(out)
    }
}

fn quote(out: &mut Vec<u8>, text: &str) {
    if text
        .bytes()
        .any(|byte| byte < b' ' || byte == b'"' || byte == b'\\')
    {
        out.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes());
    } else {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    }
}

/// Who did it: a kind in clear, and an opaque reference.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq)]
pub struct Actor {
    /// For instance `engine`, `model`, `person`.
    pub kind: String,
    /// Names nobody by itself; names and addresses belong in the body.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

impl Actor {
    /// An actor without a reference.
    pub fn new(kind: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            reference: None,
        }
    }

    /// The same actor with a reference.
    #[must_use]
    pub fn with_reference(self, reference: impl Into<String>) -> Self {
        Self {
            reference: Some(reference.into()),
            ..self
        }
    }
}

/// The bytes of one record and their leaf hash; cheap to clone.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Line {
    bytes: Arc<[u8]>,
    leaf: Hash,
}

impl Line {
    /// Takes bytes as a line and hashes them. Whether they are a record is told when they are appended.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let leaf = Hash::of_line(&bytes);
        Self { bytes, leaf }
    }

    /// The exact bytes, without a line end.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// `SHA-256(0x00 ‖ bytes)`.
    pub fn leaf(&self) -> Hash {
        self.leaf
    }

    /// Reads the envelope.
    ///
    /// # Errors
    /// When the bytes are not a record.
    pub fn record(&self) -> Result<Record<'_>, Malformed> {
        Record::parse(&self.bytes)
    }
}

/// One record, read: the envelope strictly, the body untouched.
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
    /// What happened.
    pub kind: &'a str,
    /// The seq of the record that directly led here.
    pub cause: Option<u64>,
    /// Who did it.
    pub actor: Actor,
    /// The body as it was written.
    pub body: &'a RawValue,
    /// The leaf hash of the record before.
    pub prev: Hash,
}

impl<'a> Record<'a> {
    /// Reads a line. Unknown envelope keys are tolerated, everything else must be as [`Draft::line`] writes it.
    ///
    /// # Errors
    /// When the bytes are not a record; says what was expected and what came.
    pub fn parse(line: &'a [u8]) -> Result<Self, Malformed> {
        let text = str::from_utf8(line)
            .map_err(|error| Malformed::new(format!("it is not UTF-8: {error}")))?;
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

/// A cause is left out or a number, never null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    u64::deserialize(deserializer).map(Some)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

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
    fn the_bytes_are_these() {
        let zeros = "0".repeat(64);
        let session = "01934c1f-0000-7000-8000-000000000001";
        assert_eq!(
            String::from_utf8_lossy(draft().line().bytes()),
            format!(
                r#"{{"v":1,"session":"{session}","seq":42,"at":"2026-11-20T14:03:07.112345Z","kind":"confirmation_requested","cause":41,"actor":{{"kind":"engine"}},"body":{{"x": 1.0}},"prev":"{zeros}"}}"#
            )
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
    fn a_line_reads_back() {
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
}
