//! The original call inside a call that asks for confirmation.

use serde_json::{Map, Value};

use crate::tool::FunctionCall;

const ARGUMENT: &str = "originalFunctionCall";

/// The reasons why a call contains no original call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OriginalCallError {
    /// The call itself is missing.
    #[error("the function call cannot be nil")]
    CallMissing,
    /// The argument with the original call is missing.
    #[error("required argument \"originalFunctionCall\" is missing")]
    ArgumentMissing,
    /// The original call is not an object.
    #[error("the argument \"originalFunctionCall\" must be an object, got {found}")]
    NotAnObject {
        /// The type of the value that was found.
        found: &'static str,
    },
    /// The original call is an object of another shape.
    #[error("failed to decode \"originalFunctionCall\": {problem}")]
    Undecodable {
        /// A description of the fault.
        problem: String,
    },
}

/// Returns the call about which a call of [`REQUEST_CONFIRMATION`](super::REQUEST_CONFIRMATION)
/// asks.
///
/// Keys are read in any letter case, because some programs write `ID` and `Name`. For a call built
/// by this library, [`Confirmation`](super::Confirmation) holds the original call as a value.
///
/// ```
/// use recount::adk::{OriginalCallError, original_call_from};
/// use recount::tool::FunctionCall;
/// use serde_json::{Value, json};
///
/// let asks = |args: Value| FunctionCall {
///     id: Some("adk-7".into()),
///     name: "adk_request_confirmation".into(),
///     args,
/// };
/// let call = asks(
///     json!({"originalFunctionCall": {"ID": "fc-1", "Name": "transfer", "Args": {"amount": 50}}}),
/// );
/// let original = original_call_from(&call)?;
/// assert_eq!((original.id.as_deref(), original.name.as_str()), (Some("fc-1"), "transfer"));
/// assert_eq!(original.args, json!({"amount": 50}));
///
/// assert_eq!(original_call_from(&asks(json!({}))), Err(OriginalCallError::ArgumentMissing));
/// assert_eq!(original_call_from(None), Err(OriginalCallError::CallMissing));
/// # Ok::<(), OriginalCallError>(())
/// ```
///
/// # Errors
/// [`OriginalCallError`].
pub fn original_call_from<'c>(
    call: impl Into<Option<&'c FunctionCall>>,
) -> Result<FunctionCall, OriginalCallError> {
    let call = call.into().ok_or(OriginalCallError::CallMissing)?;
    let argument = match &call.args {
        Value::Object(args) => args.get(ARGUMENT),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            None
        }
    };
    let original = argument.ok_or(OriginalCallError::ArgumentMissing)?;
    let Value::Object(original) = original else {
        let found = kind_of(original);
        return Err(OriginalCallError::NotAnObject { found });
    };
    let args = match member(original, "args")? {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(args @ Value::Object(_)) => args.clone(),
        Some(other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_))) => {
            return Err(undecodable("args", "an object", other));
        }
    };
    Ok(FunctionCall {
        id: text(original, "id")?,
        name: text(original, "name")?.unwrap_or_default(),
        args,
    })
}

/// Reads a string under a key, in any letter case of the key.
fn text(object: &Map<String, Value>, key: &str) -> Result<Option<String>, OriginalCallError> {
    match member(object, key)? {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other @ (Value::Bool(_) | Value::Number(_) | Value::Object(_) | Value::Array(_))) => {
            Err(undecodable(key, "a string", other))
        }
    }
}

/// Returns the value of a key. An exact match wins; otherwise one other letter case may match.
fn member<'o>(
    object: &'o Map<String, Value>,
    key: &str,
) -> Result<Option<&'o Value>, OriginalCallError> {
    if let Some(exact) = object.get(key) {
        return Ok(Some(exact));
    }
    let mut alike = object.iter().filter(|(it, _)| it.eq_ignore_ascii_case(key));
    let first = alike.next().map(|(_, value)| value);
    if alike.next().is_some() {
        let problem = format!("two keys are {key:?} in another case");
        return Err(OriginalCallError::Undecodable { problem });
    }
    Ok(first)
}

fn undecodable(key: &str, expected: &str, found: &Value) -> OriginalCallError {
    let problem = format!("{key} must be {expected}, got {}", kind_of(found));
    OriginalCallError::Undecodable { problem }
}

pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use serde_json::json;

    use super::*;

    fn from(args: Value) -> Result<FunctionCall, String> {
        let call = FunctionCall {
            id: Some("adk-7".to_owned()),
            name: "adk_request_confirmation".to_owned(),
            args,
        };
        original_call_from(&call).map_err(|error| error.to_string())
    }

    fn of(original: Value) -> Result<FunctionCall, String> {
        from(json!({ "originalFunctionCall": original }))
    }

    #[test]
    fn keys_are_read_in_any_letter_case() {
        let expected = FunctionCall {
            id: Some("fc-1".to_owned()),
            name: "transfer".to_owned(),
            args: json!({"Amount": 50}),
        };
        for original in [
            json!({"id": "fc-1", "name": "transfer", "args": {"Amount": 50}}),
            json!({"ID": "fc-1", "Name": "transfer", "ARGS": {"Amount": 50}}),
            json!({"id": "fc-1", "ID": "other", "name": "transfer", "args": {"Amount": 50}, "more": 1}),
        ] {
            assert_eq!(of(original.clone()), Ok(expected.clone()), "{original}");
        }
        assert_eq!(of(json!({})).map(|call| call.args), Ok(json!({})));
    }

    #[test]
    fn what_is_no_call_says_what_it_is() {
        let missing = "required argument \"originalFunctionCall\" is missing";
        for args in [json!({}), json!(null), json!({"original": {}})] {
            assert_eq!(from(args), Err(missing.to_owned()));
        }
        for (original, found) in [
            (json!("fc-1"), "got string"),
            (json!(null), "got null"),
            (json!([{}]), "got array"),
            (json!(1), "got number"),
            (json!(true), "got boolean"),
        ] {
            let error = of(original).unwrap_err();
            assert!(error.ends_with(found), "{error}");
        }
        for original in [
            json!({"id": 1}),
            json!({"name": {}}),
            json!({"args": "{}"}),
            json!({"ID": "a", "Id": "b"}),
        ] {
            let error = of(original).unwrap_err();
            assert!(error.starts_with("failed to decode"), "{error}");
        }
        let none = original_call_from(None).map_err(|error| error.to_string());
        assert_eq!(none, Err("the function call cannot be nil".to_owned()));
    }
}
