//! A fast reader for lines in the exact form that a draft writes. It parses only the body.
//! Everything unusual is left to the full parser, so this module reports no errors.

use serde_json::value::RawValue;
use uuid::Uuid;

use super::record::ENVELOPE_VERSION;
use super::timestamp;
use crate::{Actor, Hash, Outline, Record};

/// The length of the text after the body: `,"prev":"`, 64 digits, `"}`.
const TAIL: usize = 9 + 64 + 2;

/// The bytes of a line that have its kind, if that has at most 100.
const HEAD_MAX: usize = 18 + 36 + 8 + 19 + 7 + 27 + 10 + 100;

/// The fields of a line, with parsed numbers.
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

/// Reads the record. `None` if the line does not have the form of a draft, or is not a record.
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

/// Reads the outline. `None` if the line does not have the form of a draft. It checks neither the
/// other fields nor whether the body is JSON.
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

/// Reads the kind alone. `None` if the line does not begin like one of a draft.
pub(crate) fn kind(line: &[u8]) -> Option<&str> {
    let head = line.get(..HEAD_MAX).unwrap_or(line);
    let mut rest = Rest(head.utf8_chunks().next()?.valid());
    rest.expect("{\"v\":1,\"session\":\"")?;
    rest.take(36)?;
    rest.expect("\",\"seq\":")?;
    rest.number()?;
    rest.expect(",\"at\":\"")?;
    rest.take(27)?;
    rest.expect("\",\"kind\":\"")?;
    rest.string().filter(|kind| !kind.is_empty())
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
    // The body of an event is an object. Other text might be more than the body, or the body with
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

/// Parses a hyphenated UUID in lower case.
fn session(text: &str) -> Option<Uuid> {
    let session = Uuid::try_parse(text).ok()?;
    let canonical = *session
        .hyphenated()
        .encode_lower(&mut Uuid::encode_buffer())
        == *text;
    canonical.then_some(session)
}

/// True if the text has a control character, including line ends and tabs. It checks every byte
/// without a branch, which is faster.
fn control(text: &str) -> bool {
    text.bytes().fold(false, |any, byte| any | (byte < b' '))
}

/// The text that is not read yet.
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

    /// Reads a number from 1 that fits into 19 digits.
    fn number(&mut self) -> Option<u64> {
        let digits = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let text = self.take(digits)?;
        let plain = (1..=19).contains(&digits) && !text.starts_with('0');
        plain.then(|| text.parse().ok()).flatten()
    }

    /// Reads a string without escapes, and the quote after it.
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
