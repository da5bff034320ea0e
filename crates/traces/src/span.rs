//! A span and its parts.

use recount::session::{Seq, SpanId, Timestamp, TraceId};

/// A span that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The trace: that of the session.
    pub trace_id: TraceId,
    /// The id within the trace.
    pub span_id: SpanId,
    /// The span that contains this one. `None` for the session's own.
    pub parent: Option<SpanId>,
    /// The name.
    pub name: String,
    /// The kind.
    pub kind: Kind,
    /// The time of the record with which it begins.
    pub start: Timestamp,
    /// The time of the record with which it ends. Never before `start`, even if the clock was set
    /// back.
    pub end: Timestamp,
    /// The attributes, in a fixed order.
    pub attributes: Vec<Attribute>,
    /// The events within it.
    pub events: Vec<SpanEvent>,
    /// The spans of other traces that it follows from.
    pub links: Vec<Link>,
    /// The error, in fixed words. `None` if it did not end in one.
    pub error: Option<&'static str>,
    /// The record with which it ends.
    pub ended_by: Seq,
}

/// The kind of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Work within the service.
    Internal,
    /// A connection to another service.
    Client,
}

/// An attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Value,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// A flag.
    Flag(bool),
}

/// An event within a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanEvent {
    /// The name.
    pub name: &'static str,
    /// The time of its record.
    pub at: Timestamp,
    /// The attributes.
    pub attributes: Vec<Attribute>,
}

/// A link to a span of another trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The trace.
    pub trace_id: TraceId,
    /// The span.
    pub span_id: SpanId,
}

impl Span {
    /// Returns the value of an attribute.
    pub fn attribute(&self, key: &str) -> Option<&Value> {
        let found = self.attributes.iter().find(|it| it.key == key);
        found.map(|it| &it.value)
    }

    /// Returns the value of an attribute that is a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.attribute(key)? {
            Value::Text(text) => Some(text),
            Value::Number(_) | Value::Flag(_) => None,
        }
    }
}

impl Link {
    /// Reads a `traceparent` of W3C Trace Context, of any version.
    ///
    /// ```
    /// use recount_traces::Link;
    /// let link = Link::of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
    /// assert_eq!(link.span_id.to_string(), "b7ad6b7169203331");
    /// assert_eq!(Link::of("00-00000000000000000000000000000000-b7ad6b7169203331-01"), None);
    /// ```
    pub fn of(traceparent: &str) -> Option<Link> {
        let mut parts = traceparent.split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        // Version 0 has four parts, a later one may have more.
        let is_whole = version != "00" || parts.next().is_none();
        bytes::<1>(version).filter(|it| *it != [0xff])?;
        let (trace_id, span_id) = (bytes(trace)?, bytes(span)?);
        bytes::<1>(flags)?;
        let is_fit = is_whole && trace_id != [0; 16] && span_id != [0; 8];
        is_fit.then_some(Link {
            trace_id: TraceId(trace_id),
            span_id: SpanId(span_id),
        })
    }
}

/// Reads lower-case hex digits.
fn bytes<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let digits = hex.as_bytes();
    let is_hex = |it: &u8| it.is_ascii_digit() || (b'a'..=b'f').contains(it);
    if digits.len() != N * 2 || !digits.iter().all(is_hex) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// The attributes of a span that is being made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes(Vec<Attribute>);

impl Attributes {
    pub(crate) fn text(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.put(key, Value::Text(value.into()));
    }

    /// Adds a text if there is one.
    pub(crate) fn text_if_any(&mut self, key: impl Into<String>, value: Option<impl Into<String>>) {
        if let Some(value) = value {
            self.text(key, value);
        }
    }

    pub(crate) fn number(&mut self, key: impl Into<String>, value: u64) {
        self.put(key, Value::Number(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    /// Adds a flag that is set.
    pub(crate) fn flag(&mut self, key: impl Into<String>, is_set: bool) {
        if is_set {
            self.put(key, Value::Flag(true));
        }
    }

    fn put(&mut self, key: impl Into<String>, value: Value) {
        let key = key.into();
        self.0.push(Attribute { key, value });
    }

    pub(crate) fn done(self) -> Vec<Attribute> {
        self.0
    }
}
