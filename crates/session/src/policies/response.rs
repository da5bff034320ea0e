//! The shape of responses to the model.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::json::Json;
use crate::values::endings::Outcome;
use crate::values::scheduling::FunctionResponseScheduling;

/// The shape of responses to the model.
///
/// ```
/// use recount_session::{FunctionResponseScheduling, ResponseShape};
/// use serde_json::json;
///
/// let (plain, envelope) = (ResponseShape::Plain, ResponseShape::Envelope);
/// assert_eq!(plain.success(json!({"paid": true}), None), json!({"paid": true}));
/// assert_eq!(plain.error("timeout", "too late"), json!({"error": "too late", "kind": "timeout"}));
/// let when = Some(FunctionResponseScheduling::Interrupt);
/// assert_eq!(
///     envelope.success(json!({"paid": true}), when),
///     json!({"output": {"paid": true}, "scheduling": "INTERRUPT"}),
/// );
/// assert_eq!(
///     envelope.error("timeout", "too late"),
///     json!({
///         "output": {"error": "too late", "kind": "timeout", "success": false},
///         "scheduling": "SILENT",
///     }),
/// );
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseShape {
    /// An object as it is, any other result under `output`; an error as [`error_response`] builds
    /// it.
    #[default]
    Plain,
    /// Everything under `output`, with `scheduling` beside it: `WHEN_IDLE` unless the result sets
    /// another, `SILENT` for errors. SAMMY's tools use this shape.
    Envelope,
}

impl ResponseShape {
    /// Returns the response that carries a result, with the time at which the model should use it.
    #[must_use]
    pub fn success(self, result: Value, scheduling: Option<FunctionResponseScheduling>) -> Value {
        match self {
            ResponseShape::Plain => success_response(result),
            ResponseShape::Envelope => {
                json!({ "output": result, "scheduling": scheduling.unwrap_or_default() })
            }
        }
    }

    /// [`success`](ResponseShape::success) of a borrowed result, as recorded text.
    #[doc(hidden)]
    pub fn success_text(self, result: &Value) -> Json {
        /// A result that is not an object.
        #[derive(Serialize)]
        struct Output<'a> {
            output: &'a Value,
        }
        match (self, result) {
            (ResponseShape::Plain, Value::Object(_)) => Json::of(result),
            (ResponseShape::Plain, output) => Json::of_serialized(&Output { output }),
            (ResponseShape::Envelope, _) => Json::of(&self.success(result.clone(), None)),
        }
    }

    /// [`success`](ResponseShape::success) of a result that is text; its numbers keep their digits.
    #[doc(hidden)]
    pub fn success_of_text(
        self,
        result: &Json,
        scheduling: Option<FunctionResponseScheduling>,
    ) -> Json {
        /// A result with the fields around it.
        #[derive(Serialize)]
        struct Wrapped<'a> {
            output: &'a Json,
            #[serde(skip_serializing_if = "Option::is_none")]
            scheduling: Option<FunctionResponseScheduling>,
        }
        let scheduling = match self {
            ResponseShape::Plain if result.is_object() => return result.clone(),
            ResponseShape::Plain => None,
            ResponseShape::Envelope => Some(scheduling.unwrap_or_default()),
        };
        let output = result;
        Json::of_serialized(&Wrapped { output, scheduling })
    }

    /// Returns the response to a call that did not succeed.
    #[must_use]
    pub fn error(self, kind: &str, message: &str) -> Value {
        match self {
            ResponseShape::Plain => error_response(kind, message),
            ResponseShape::Envelope => json!({
                "output": { "error": message, "kind": kind, "success": false },
                "scheduling": FunctionResponseScheduling::Silent,
            }),
        }
    }

    pub(super) fn is_plain(&self) -> bool {
        match self {
            ResponseShape::Plain => true,
            ResponseShape::Envelope => false,
        }
    }
}

/// Returns the response that carries a result: an object as it is, any other value (also `null`)
/// under `output`.
///
/// ```
/// use recount_session::response::success_response;
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

/// Returns the response to a call that did not succeed: the message under `error`, its kind beside
/// it.
///
/// ```
/// use recount_session::response::error_response;
/// use serde_json::json;
///
/// let response = error_response("timeout", "timed out after 5s");
/// assert_eq!(response, json!({"error": "timed out after 5s", "kind": "timeout"}));
/// ```
#[must_use]
pub fn error_response(kind: &str, message: &str) -> Value {
    json!({ "error": message, "kind": kind })
}

/// The response to a call that was cut off between start and result.
pub(crate) fn unknown_outcome(shape: ResponseShape) -> Json {
    Json::of(&shape.error(
        "unknown_outcome",
        "the call was interrupted after it had started; whether it took effect is unknown",
    ))
}

/// Formats the outcome of a call of an earlier connection as text of the conversation.
///
/// The model knows no id of that connection, so the text names the tool and the arguments.
///
/// ```
/// use recount_session::{Json, Outcome, response};
/// let (args, told) = (Json::parse("{\"order\":7}")?, Json::parse("{\"refunded\":true}")?);
/// let text = response::as_conversation("refund", &args, Outcome::Returned, &told);
/// assert!(text.contains("refund({\"order\":7})") && text.ends_with("{\"refunded\":true}"));
/// # Ok::<(), recount_session::JsonProblem>(())
/// ```
pub fn as_conversation(name: &str, args: &Json, outcome: Outcome, response: &Json) -> String {
    let ending = outcome.in_words();
    format!(
        "[tool outcome] Your earlier call {name}({args}) has an outcome: {ending}. \
         Response: {response}"
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

    #[test]
    fn conversation_text_names_call_outcome_and_response() {
        let (args, told) = (
            Json::of(&json!({"order": 7})),
            Json::of(&json!({"ok": true})),
        );
        let text = as_conversation("refund", &args, Outcome::Returned, &told);
        let ending = Outcome::Returned.in_words();
        for part in [r#"refund({"order":7})"#, ending, r#"{"ok":true}"#] {
            assert!(text.contains(part), "{text}");
        }
    }
}
