//! Serialization of times in JSON as in the records: `2026-11-20T14:03:07.112345Z`.

use chrono::DateTime;
use serde::Serializer;

use crate::session::Timestamp;

pub(super) fn text<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&spelled(*at))
}

pub(super) fn text_if_any<S: Serializer>(
    at: &Option<Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => text(at, serializer),
        None => serializer.serialize_none(),
    }
}

/// The time in the form of the records.
pub(super) fn spelled(at: Timestamp) -> String {
    let utc = DateTime::from_timestamp_micros(at.0).unwrap_or_default();
    utc.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}
