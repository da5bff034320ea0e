//! The settings of `[traces]`: the collector that takes a session's spans.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::schema::{table, text};
use super::section::{Given, Section};
use recount_traces::Content;

/// The keys of `[traces]`.
pub(super) const TRACES: [&str; 5] = [
    "endpoint",
    "headers_env",
    "headers_file",
    "service_name",
    "with",
];

/// The collector that takes a session's spans.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TracesSettings {
    pub(crate) endpoint: Given<String>,
    /// The variable with the headers of requests.
    pub(crate) headers_env: Option<Given<String>>,
    /// The file with the headers of requests.
    pub(crate) headers_file: Option<Given<PathBuf>>,
    pub(crate) service_name: Option<Given<String>>,
    /// The content that spans contain.
    pub(crate) with: Content,
}

/// Reads `[traces]`.
pub(super) fn traces(section: &Section<'_>) -> Option<TracesSettings> {
    section.only(&TRACES);
    let mut with = Vec::new();
    for given in section.texts("with") {
        match Content::of([given.value.as_str()]) {
            Ok(_) => with.push(given.value),
            Err(error) => {
                let mistake = given.mistake(error.to_string());
                section.mistakes.borrow_mut().push(mistake);
            }
        }
    }
    let with = Content::of(with.iter().map(String::as_str));
    let (headers_env, headers_file) = (section.text("headers_env"), section.path("headers_file"));
    if let (Some(_), Some(second)) = (&headers_env, &headers_file) {
        let mistake = second.mistake("expected one of headers_env and headers_file, found both");
        section.mistakes.borrow_mut().push(mistake);
    }
    Some(TracesSettings {
        endpoint: section.required("endpoint", section.text("endpoint"))?,
        headers_env,
        headers_file,
        service_name: section.text("service_name"),
        with: with.unwrap_or_default(),
    })
}

/// The JSON Schema of `[traces]`.
pub(super) fn schema() -> Value {
    let contents = json!({"type": "array", "items": {"enum": Content::NAMES}});
    table(
        &["endpoint"],
        [
            (
                "endpoint",
                text(),
                "The URL of a collector that takes OTLP over HTTP, such as \
                 http://localhost:4318. /v1/traces is added.",
            ),
            (
                "headers_env",
                text(),
                "The variable with the headers of requests, in the form of \
                 OTEL_EXPORTER_OTLP_HEADERS: name=value,name=value.",
            ),
            (
                "headers_file",
                text(),
                "The file with the headers of requests, one name=value a line. Not every user may \
                 be able to read it.",
            ),
            (
                "service_name",
                text(),
                "The service.name of the spans; recount by default.",
            ),
            (
                "with",
                contents,
                "The content that spans contain beside names, ids and times; none by default. \
                 Spans of sealed sessions never contain any.",
            ),
        ],
    )
}
