//! Recorded sessions as OpenTelemetry spans, by the semantic conventions for generative AI of
//! version 1.41.0 ([`SCHEMA_URL`]).
//!
//! ```text
//! facts of a session ─▶ Tracer ─▶ Span ─▶ ExportRequest (JSON) ─┬─▶ `spans_of`: a file
//!                                                               └─▶ `Exporter`: a collector
//! ```
//!
//! [`Tracer`] is a pure function of a session's facts: the same records give the same spans, with
//! the same ids and times. So an export after the fact rebuilds what the exporter has sent.
//! `docs/traces.md` lists the spans and their attributes.

// Tests stop where they meet the impossible.
#![cfg_attr(
    test,
    expect(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        reason = "a test that meets the impossible must stop"
    )
)]

mod content;
#[cfg(feature = "live")]
mod live;
mod otlp;
mod projection;
mod reading;
mod span;

pub use content::{Content, UnknownContent};
#[cfg(feature = "live")]
pub use live::{Endpoint, ExportError, Exporter, Headers, Settings, UnfitEndpoint, UnfitHeaders};
pub use otlp::{ExportRequest, SCHEMA_URL, SPANS_MAX, Source};
pub use projection::Tracer;
pub use reading::spans_of;
pub use span::{Attribute, Kind, Link, Span, SpanEvent, Value};
