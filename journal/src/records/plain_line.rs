//! Reads a line written exactly as a draft writes it, without a parser for all but the body.
//! Whatever is unusual is left to the parser, so this never says why something is wrong.

use serde_json::value::RawValue;
use uuid::Uuid;

use super::record::ENVELOPE_VERSION;
use super::timestamp;
use crate::{Actor, Hash, Outline, Record};

/// What stands behind the body: `,"prev":"`, 64 digits, `"}`.
const TAIL: usize = 9 + 64 + 2;

/// The parts of a line, the envelope's numbers read.
struct Parts<'a> {
    session: &'a str,
    seq: u64,
    at_us: i64,
    kind: &'a str,
    cause: Option<u64>,
    actor: &'a str,
    reference: Option<&'a str>,
    body: &'a str,
    prev: &'a str,
}

/// The record, `None` when the line is not written as a draft writes it, or is no record.
pub(crate) fn read(text: &str) -> Option<Record<'_>> {
    let parts = parts(text)?;
    let mut actor = Actor::new(parts.actor.to_owned());
    if let Some(reference) = parts.reference {
        actor = actor.with_reference(reference);
    }
    let prev: Hash = parts.prev.parse().ok()?;
    let body: &RawValue = serde_json::from_str(parts.body).ok()?;
    Some(Record {
        v: ENVELOPE_VERSION,
        session: session(parts.session)?,
        seq: parts.seq,
        at_us: parts.at_us,
        kind: parts.kind,
        cause: parts.cause,
        actor,
        body,
        prev,
    })
}

/// What a line tells of what happened, `None` when it is not written as a draft writes it. What
/// else is in it is not looked at, and whether the body is JSON is not asked.
pub(crate) fn outline(text: &str) -> Option<Outline<'_>> {
    let parts = parts(text)?;
    Some(Outline {
        seq: parts.seq,
        at_us: parts.at_us,
        kind: parts.kind,
        cause: parts.cause,
        body: parts.body,
    })
}

fn parts(text: &str) -> Option<Parts<'_>> {
    let mut rest = Rest(text);
    rest.expect("{\"v\":1,\"session\":\"")?;
    let session = rest.take(36)?;
    rest.expect("\",\"seq\":")?;
    let seq = rest.number()?;
    rest.expect(",\"at\":\"")?;
    let at_us = timestamp::read(rest.take(27)?)?;
    rest.expect("\",\"kind\":\"")?;
    let kind = rest.string().filter(|kind| !kind.is_empty())?;
    let cause = match rest.expect(",\"cause\":") {
        Some(()) => Some(rest.number().filter(|cause| *cause < seq)?),
        None => None,
    };
    rest.expect(",\"actor\":{\"kind\":\"")?;
    let actor = rest.string()?;
    let reference = match rest.expect(",\"ref\":\"") {
        Some(()) => Some(rest.string()?),
        None => None,
    };
    rest.expect("},\"body\":")?;
    let body = rest.take(rest.0.len().checked_sub(TAIL)?)?;
    rest.expect(",\"prev\":\"")?;
    let prev = rest.take(64)?;
    rest.expect("\"}")?;
    // An event is an object; what else stands here may be more than the body, or the body with
    // white space around it.
    let is_object = body.starts_with('{') && body.ends_with('}');
    let whole = rest.0.is_empty() && is_object && !control(body);
    whole.then_some(Parts {
        session,
        seq,
        at_us,
        kind,
        cause,
        actor,
        reference,
        body,
        prev,
    })
}

/// A hyphenated UUID in lower case.
fn session(text: &str) -> Option<Uuid> {
    let session = Uuid::try_parse(text).ok()?;
    let canonical = *session
        .hyphenated()
        .encode_lower(&mut Uuid::encode_buffer())
        == *text;
    canonical.then_some(session)
}

/// True if a control character is among the bytes, line ends and tabs included. Every byte is
/// looked at, which is faster.
fn control(text: &str) -> bool {
    text.bytes().fold(false, |any, byte| any | (byte < b' '))
}

/// The text not read yet.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn expect(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    fn take(&mut self, bytes: usize) -> Option<&'a str> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number from 1, of so few digits that it fits.
    fn number(&mut self) -> Option<u64> {
        let digits = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let text = self.take(digits)?;
        let plain = (1..=19).contains(&digits) && !text.starts_with('0');
        plain.then(|| text.parse().ok()).flatten()
    }

    /// A string without escapes, and the quote behind it.
    fn string(&mut self) -> Option<&'a str> {
        let length = self
            .0
            .bytes()
            .position(|byte| byte < b' ' || byte == b'"' || byte == b'\\')?;
        let text = self.take(length)?;
        self.expect("\"")?;
        Some(text)
    }
}
