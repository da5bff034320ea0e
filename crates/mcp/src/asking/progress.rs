//! Progress reports of a server about a call.

use recount_session::secret::Unsaid;
use rmcp::model::ProgressNotificationParam;
use serde_json::{Map, Value};

/// The maximum length of a forwarded message, in characters; the rest is cut.
const MESSAGE_CHARS_MAX: usize = 1_000;

/// Returns a report for the record: `{"progress": 3, "total": 10, "message": "Third file"}`.
pub(crate) fn report(said: &ProgressNotificationParam, unsaid: &Unsaid) -> Value {
    let mut report = Map::new();
    report.insert("progress".to_owned(), number(said.progress));
    if let Some(total) = said.total {
        report.insert("total".to_owned(), number(total));
    }
    if let Some(message) = &said.message {
        let message = unsaid.out_of(message.as_str());
        let message: String = message.chars().take(MESSAGE_CHARS_MAX).collect();
        report.insert("message".to_owned(), message.into());
    }
    report.into()
}

/// Returns a whole number without a fraction, as the server has probably written it.
fn number(value: f64) -> Value {
    let whole = (value.fract() == 0.0 && value.abs() < WHOLE_MAX).then_some(value as i64);
    whole.map_or_else(|| value.into(), Value::from)
}

/// The bound below which whole numbers are exact as floats.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
