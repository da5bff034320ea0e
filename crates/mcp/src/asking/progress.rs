//! Reports of a server on the progress of a call.

use recount_session::secret::Unsaid;
use rmcp::model::ProgressNotificationParam;
use serde_json::{Map, Value};

/// The longest message that is handed on, in characters; the rest is left out.
const MESSAGE_CHARS_MAX: usize = 1_000;

/// A report as it goes on record: `{"progress": 3, "total": 10, "message": "Third file"}`.
pub(crate) fn told(said: &ProgressNotificationParam, unsaid: &Unsaid) -> Value {
    let mut told = Map::new();
    told.insert("progress".to_owned(), number(said.progress));
    if let Some(total) = said.total {
        told.insert("total".to_owned(), number(total));
    }
    if let Some(message) = &said.message {
        let message = unsaid.out_of(message.as_str());
        let message: String = message.chars().take(MESSAGE_CHARS_MAX).collect();
        told.insert("message".to_owned(), message.into());
    }
    told.into()
}

/// A whole number without a fraction, as the server is likely to have written it.
fn number(value: f64) -> Value {
    let whole = (value.fract() == 0.0 && value.abs() < WHOLE_MAX).then_some(value as i64);
    whole.map_or_else(|| value.into(), Value::from)
}

/// Whole numbers below this are exact as floats.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
