//! The JSON of a message.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use recount::session::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::content::Content;

/// The maximum length of the arguments in a message, in bytes. Longer ones are left out.
const ARGUMENTS_BYTES_MAX: usize = 64 << 10;

/// The JSON of a message, as Standard Webhooks recommends it.
#[derive(Serialize)]
struct Body<'c> {
    r#type: String,
    timestamp: String,
    data: Data<'c>,
}

#[derive(Serialize)]
struct Data<'c> {
    id: String,
    text: &'c str,
    #[serde(flatten)]
    ids: BTreeMap<&'static str, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<&'c BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Value>,
    /// True if there are arguments that are too long for a message.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    arguments_too_long: bool,
}

/// The JSON of a message with its text.
///
/// # Errors
/// Only if a value cannot be written, which does not happen for these.
pub(crate) fn json(content: &Content, text: &str) -> Result<Vec<u8>, serde_json::Error> {
    let arguments = content.arguments.as_deref();
    let fitting = arguments.filter(|it| it.len() <= ARGUMENTS_BYTES_MAX);
    serde_json::to_vec(&Body {
        r#type: format!("recount.{}", content.occasion),
        timestamp: utc(content.at),
        data: Data {
            id: content.id.to_string(),
            text,
            ids: values(content),
            labels: Some(&content.labels).filter(|it| !it.is_empty()),
            arguments: fitting.and_then(|it| serde_json::from_str(it).ok()),
            arguments_too_long: arguments.is_some() && fitting.is_none(),
        },
    })
}

/// The members that a message may lack.
fn values(content: &Content) -> BTreeMap<&'static str, Value> {
    let text = |text: &Option<String>| text.clone().map(Value::from);
    let time = |at: Option<Timestamp>| at.map(|it| Value::from(utc(it)));
    let digest = content.digest.as_ref();
    let values = [
        ("link", text(&content.link)),
        ("session", content.session.map(|it| it.0.to_string().into())),
        ("record", content.record.map(|it| it.0.into())),
        ("call", content.call.map(|it| it.0.into())),
        ("request", content.request.map(|it| it.0.to_string().into())),
        ("since", time(content.since)),
        ("expires", time(content.expires)),
        ("decision", content.decision.map(Value::from)),
        ("outcome", content.outcome.map(Value::from)),
        ("tool", text(&content.tool)),
        ("agent", text(&content.agent)),
        ("external_id", text(&content.external_id)),
        ("on_behalf_of", text(&content.on_behalf_of)),
        ("by", text(&content.by)),
        ("hint", text(&content.hint)),
        ("reason", text(&content.reason)),
        (
            "digest",
            digest.and_then(|it| serde_json::to_value(it).ok()),
        ),
    ];
    let present = values.into_iter();
    present
        .filter_map(|(key, value)| Some((key, value?)))
        .collect()
}

/// The time in UTC as RFC 3339.
fn utc(at: Timestamp) -> String {
    let at = DateTime::<Utc>::from_timestamp_micros(at.0).unwrap_or_default();
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}
