//! The writer of a record.

use recount_text::json::{needs_escapes, strict};
use uuid::Uuid;

use super::limits::{BODY_DEPTH, RECORD_LIMIT};
use super::line::Place;
use super::timestamp;
use crate::{Actor, Hash, Line};

/// The fields of a record before it is encoded.
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
    /// Microseconds since 1970, clamped to the years 0 to 9999.
    pub at_us: i64,
    /// The event as a short name.
    pub kind: &'a str,
    /// The seq of the record that directly led to this one.
    pub cause: Option<u64>,
    /// The actor that caused the event.
    pub actor: Actor,
    /// The body as JSON text, stored unchanged.
    pub body: &'a str,
    /// The leaf hash of the previous record, [`Hash::ZERO`] for the first one.
    pub prev: Hash,
}

impl Draft<'_> {
    /// Encodes the record as a line, and checks it for the journal on the caller's thread.
    pub fn line(&self) -> Line {
        let mut out = Vec::with_capacity(self.body.len() + 320);
        out.extend_from_slice(b"{\"v\":1,\"session\":\"");
        out.extend_from_slice(
            self.session
                .hyphenated()
                .encode_lower(&mut Uuid::encode_buffer())
                .as_bytes(),
        );
        out.extend_from_slice(b"\",\"seq\":");
        number(&mut out, self.seq);
        out.extend_from_slice(b",\"at\":\"");
        timestamp::write(&mut out, self.at_us);
        out.extend_from_slice(b"\",\"kind\":");
        quote(&mut out, self.kind);
        if let Some(cause) = self.cause {
            out.extend_from_slice(b",\"cause\":");
            number(&mut out, cause);
        }
        out.extend_from_slice(b",\"actor\":{\"kind\":");
        quote(&mut out, &self.actor.kind);
        if let Some(reference) = &self.actor.reference {
            out.extend_from_slice(b",\"ref\":");
            quote(&mut out, reference);
        }
        out.extend_from_slice(b"},\"body\":");
        out.extend_from_slice(self.body.as_bytes());
        out.extend_from_slice(b",\"prev\":\"");
        self.prev.write(&mut out);
        out.extend_from_slice(b"\"}");
        Line::known(out, self.place())
    }

    /// The position of the line, if it is a record that can be read back.
    fn place(&self) -> Option<Place> {
        let causal = self
            .cause
            .is_none_or(|cause| (1..self.seq).contains(&cause));
        let named = !self.kind.is_empty() && !needs_escapes(self.kind);
        let sound = self.seq > 0 && causal && named;
        // A body over the limit is rejected for its size, and need not be read.
        let sound = sound && self.body.len() <= RECORD_LIMIT;
        let sound = sound && strict::check_line(self.body, BODY_DEPTH).is_ok();
        sound.then_some(Place {
            session: self.session,
            seq: self.seq,
            at_us: timestamp::drawn(self.at_us),
            prev: self.prev,
        })
    }
}

fn number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn quote(out: &mut Vec<u8>, text: &str) {
    if needs_escapes(text) {
        out.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes());
    } else {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    }
}
