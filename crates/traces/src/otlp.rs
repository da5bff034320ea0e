//! Spans as `ExportTraceServiceRequest` of OTLP, in its encoding as JSON.
//!
//! Ids are hex digits there, and whole numbers of 64 bits are strings.

use std::io::{self, Write};

use recount::session::Timestamp;
use serde::Serialize;

use crate::span::{Attribute, Kind, Link, Span, SpanEvent, Value};

/// The schema of the attributes: semantic conventions 1.41.0.
///
/// It is the last release of OpenTelemetry's general conventions that contains those for generative
/// AI.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.0";

/// The maximum number of spans in a request. Collectors limit the size of a body.
pub const SPANS_MAX: usize = 512;

/// The source of spans, as the collector names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name of the service, `service.name`.
    pub service_name: String,
}

impl Default for Source {
    /// The service `recount`.
    fn default() -> Source {
        Source {
            service_name: "recount".to_owned(),
        }
    }
}

/// Spans as an `ExportTraceServiceRequest` of OTLP.
///
/// It serializes as JSON in one line:
///
/// ```json
/// {"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":
///  "recount"}}]},"scopeSpans":[{"scope":{"name":"recount","version":"0.1.0"},"spans":[{"traceId":
///  "0199…","spanId":"9f86…","name":"execute_tool refund","kind":1,"startTimeUnixNano":"17…000",
///  "endTimeUnixNano":"17…000","attributes":[…],"status":{"code":2,"message":"…"}}],
///  "schemaUrl":"https://opentelemetry.io/schemas/1.41.0"}]}]}
/// ```
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExportRequest<'s> {
    resource_spans: [ResourceSpans<'s>; 1],
}

impl<'s> ExportRequest<'s> {
    /// Returns a request with these spans.
    pub fn of(source: &Source, spans: &'s [Span]) -> ExportRequest<'s> {
        let service = Attribute {
            key: "service.name".to_owned(),
            value: Value::Text(source.service_name.clone()),
        };
        ExportRequest {
            resource_spans: [ResourceSpans {
                resource: Resource {
                    attributes: [JsonAttribute::owned(service)],
                },
                scope_spans: [ScopeSpans {
                    scope: Scope {
                        name: "recount",
                        version: env!("CARGO_PKG_VERSION"),
                    },
                    spans: spans.iter().map(JsonSpan::of).collect(),
                    schema_url: SCHEMA_URL,
                }],
            }],
        }
    }

    /// Writes spans as lines of JSON, each a request of at most [`SPANS_MAX`] spans.
    ///
    /// # Errors
    /// The error of the writer.
    pub fn write_lines(source: &Source, spans: &[Span], mut out: impl Write) -> io::Result<()> {
        for some in spans.chunks(SPANS_MAX) {
            serde_json::to_writer(&mut out, &ExportRequest::of(source, some))?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'s> {
    resource: Resource,
    scope_spans: [ScopeSpans<'s>; 1],
}

#[derive(Debug, Serialize)]
struct Resource {
    attributes: [JsonAttribute; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ScopeSpans<'s> {
    scope: Scope,
    spans: Vec<JsonSpan<'s>>,
    schema_url: &'static str,
}

#[derive(Debug, Serialize)]
struct Scope {
    name: &'static str,
    version: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonSpan<'s> {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    name: &'s str,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<JsonAttribute>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<JsonEvent>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<JsonLink>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

/// The status of a span that ended in an error.
#[derive(Debug, Serialize)]
struct Status {
    code: u8,
    message: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonEvent {
    time_unix_nano: String,
    name: &'static str,
    attributes: Vec<JsonAttribute>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonLink {
    trace_id: String,
    span_id: String,
}

#[derive(Debug, Serialize)]
struct JsonAttribute {
    key: String,
    value: JsonValue,
}

#[derive(Debug, Serialize)]
enum JsonValue {
    #[serde(rename = "stringValue")]
    Text(String),
    /// A number as a string.
    #[serde(rename = "intValue")]
    Number(String),
    #[serde(rename = "boolValue")]
    Flag(bool),
}

/// `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;

impl<'s> JsonSpan<'s> {
    fn of(it: &'s Span) -> JsonSpan<'s> {
        JsonSpan {
            trace_id: it.trace_id.to_string(),
            span_id: it.span_id.to_string(),
            parent_span_id: it.parent.map(|it| it.to_string()),
            name: &it.name,
            kind: match it.kind {
                Kind::Internal => 1,
                Kind::Client => 3,
            },
            start_time_unix_nano: nanoseconds(it.start),
            end_time_unix_nano: nanoseconds(it.end),
            attributes: attributes(&it.attributes),
            events: it.events.iter().map(JsonEvent::of).collect(),
            links: it.links.iter().map(JsonLink::of).collect(),
            status: it.error.map(|message| Status {
                code: ERROR,
                message,
            }),
        }
    }
}

impl JsonEvent {
    fn of(it: &SpanEvent) -> JsonEvent {
        JsonEvent {
            time_unix_nano: nanoseconds(it.at),
            name: it.name,
            attributes: attributes(&it.attributes),
        }
    }
}

impl JsonLink {
    fn of(it: &Link) -> JsonLink {
        JsonLink {
            trace_id: it.trace_id.to_string(),
            span_id: it.span_id.to_string(),
        }
    }
}

impl JsonAttribute {
    fn owned(it: Attribute) -> JsonAttribute {
        JsonAttribute {
            key: it.key,
            value: match it.value {
                Value::Text(text) => JsonValue::Text(text),
                Value::Number(number) => JsonValue::Number(number.to_string()),
                Value::Flag(flag) => JsonValue::Flag(flag),
            },
        }
    }
}

fn attributes(all: &[Attribute]) -> Vec<JsonAttribute> {
    all.iter().cloned().map(JsonAttribute::owned).collect()
}

/// The time in nanoseconds since 1970. A time before counts as 0: the field has no sign.
fn nanoseconds(at: Timestamp) -> String {
    let us = u64::try_from(at.0).unwrap_or(0);
    us.saturating_mul(1000).to_string()
}
