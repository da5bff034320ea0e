//! The shape of what the model is answered.

use serde_json::{Map, Value, json};

use super::decision::Outcome;
use super::json::Json;

/// The answer that carries a result: an object as it is, anything else (also `null`) under `output`.
///
/// ```
/// use recount::session::response::success_response;
/// use serde_json::json;
///
/// assert_eq!(success_response(json!({"paid": true})), json!({"paid": true}));
/// assert_eq!(success_response(json!(null)), json!({"output": null}));
/// ```
#[must_use]
pub fn success_response(result: Value) -> Value {
    match result {
        Value::Object(_) => result,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Value::Object(Map::from_iter([("output".to_owned(), result)]))
        }
    }
}

/// The answer to a call that did not succeed: the message under `error`, its kind beside it.
///
/// ```
/// use recount::session::response::error_response;
/// use serde_json::json;
///
/// assert_eq!(error_response("timeout", "timed out after 5s"), json!({"error": "timed out after 5s", "kind": "timeout"}));
/// ```
#[must_use]
pub fn error_response(kind: &str, message: &str) -> Value {
    json!({ "error": message, "kind": kind })
}

/// [`error_response`] as it is journaled.
pub(crate) fn error(kind: &str, message: &str) -> Json {
    Json::of(&error_response(kind, message))
}

/// What the model is told of a call that was cut off between start and result.
pub(crate) fn unknown_outcome() -> Json {
    error(
        "unknown_outcome",
        "the call was interrupted after it had started; whether it took effect is unknown",
    )
}

/// How the model is told, as text of the conversation, of a call that a connection of before brought.
///
/// It knows no id of that connection, so the text names the tool and the arguments.
///
/// ```
/// use recount::session::{Json, Outcome, response};
/// let (args, told) = (Json::parse("{\"order\":7}")?, Json::parse("{\"refunded\":true}")?);
/// let text = response::as_conversation("refund", &args, Outcome::Returned, &told);
/// assert!(text.contains("refund({\"order\":7})") && text.ends_with("{\"refunded\":true}"));
/// # Ok::<(), recount::session::JsonProblem>(())
/// ```
pub fn as_conversation(name: &str, args: &Json, outcome: Outcome, response: &Json) -> String {
    let ending = outcome.in_words();
    format!(
        "[tool outcome] Your earlier call {name}({args}) has an outcome: {ending}. Response: {response}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_object_is_its_own_answer() {
        assert_eq!(success_response(json!({})), json!({}));
        for result in [json!(null), json!(false), json!(0), json!(""), json!([{}])] {
            assert_eq!(
                success_response(result.clone()),
                json!({ "output": result })
            );
        }
    }
}
