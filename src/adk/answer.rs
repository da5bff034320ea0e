//! Strict reading of a client's answer to a confirmation request.

use crate::session::{Json, UnfitAnswer};
use crate::tool::{AnswerMembers, ToolConfirmation, malformed};

/// Reads the `response` of a FunctionResponse to
/// [`REQUEST_CONFIRMATION`](super::REQUEST_CONFIRMATION).
///
/// - `confirmed`: required, a boolean
/// - `hint`, `reason`: strings
/// - `payload`: any value
/// - `editedArgs`: arguments that replace the model's
/// - `requestHash`: the hash of the request that the approver saw
///
/// All but `confirmed` may be absent or `null`. A number in `payload` or `editedArgs` that would
/// lose digits is rejected. Unknown keys are kept. The exception is `args`, which is rejected
/// because the client may mean `editedArgs`. Some clients wrap the answer in a string:
/// `{"response":"{\"confirmed\":true}"}`.
///
/// ```
/// use recount::adk::confirmation_from;
/// use recount::session::Json;
///
/// let read = |text: &str| confirmation_from(&Json::parse(text).unwrap());
/// assert!(read(r#"{"confirmed":true,"payload":null}"#)?.confirmed);
/// assert!(read(r#"{"response":"{\"confirmed\": true}"}"#)?.confirmed);
/// let denied = read(r#"{"confirmed":false,"reason":"too much","comment":"x"}"#)?;
/// assert_eq!(denied.reason.as_deref(), Some("too much"));
/// assert!(denied.extra.contains_key("comment"));
/// for nonsense in ["{}", "\"yes\"", "1", "null", r#"{"confirmed":"yes"}"#, r#"{"approved":true}"#] {
///     assert!(read(nonsense).is_err());
/// }
/// # Ok::<(), recount::session::UnfitAnswer>(())
/// ```
///
/// # Errors
/// [`UnfitAnswer::Malformed`] if the answer is neither a yes nor a no. A malformed answer is
/// neither an approval nor a denial.
pub fn confirmation_from(response: &Json) -> Result<ToolConfirmation, UnfitAnswer> {
    members_of(response)?.lenient()
}

/// Returns the members of an answer, unwrapping the string in which some clients send it.
pub(super) fn members_of(response: &Json) -> Result<AnswerMembers, UnfitAnswer> {
    unwrapped(AnswerMembers::of(response)?)
}

/// Parses the string under `response` if that is the only member.
fn unwrapped(members: AnswerMembers) -> Result<AnswerMembers, UnfitAnswer> {
    let Some(wrapped) = members.only("response") else {
        return Ok(members);
    };
    let Ok(text) = serde_json::from_str::<String>(wrapped.as_str()) else {
        return Ok(members);
    };
    let inner = Json::parse(&text)
        .map_err(|problem| malformed(&format!("the text under \"response\" is {problem}")))?;
    AnswerMembers::of(&inner)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::session::ObjectHash;

    fn read(text: &str) -> Result<ToolConfirmation, UnfitAnswer> {
        confirmation_from(&Json::parse(text).unwrap())
    }

    #[test]
    fn only_a_boolean_is_an_answer() {
        for nonsense in [
            "{}",
            "\"yes\"",
            "\"{\\\"confirmed\\\":true}\"",
            "1",
            "null",
            "true",
            "[]",
            "[{\"confirmed\":true}]",
            r#"{"confirmed":null}"#,
            r#"{"confirmed":1}"#,
            r#"{"confirmed":0}"#,
            r#"{"confirmed":"true"}"#,
            r#"{"confirmed":"maybe"}"#,
            r#"{"confirmed":[true]}"#,
            r#"{"Confirmed":true}"#,
            r#"{"approved":true}"#,
            r#"{"result":{"confirmed":true}}"#,
            r#"{"response":{"confirmed":true}}"#,
            r#"{"response":"yes"}"#,
            r#"{"response":"true"}"#,
            r#"{"response":"{}"}"#,
            r#"{"response":"{\"confirmed\":false,\"confirmed\":true}"}"#,
            r#"{"response":"{\"response\":\"{}\"}"}"#,
            r#"{"response":"{\"confirmed\":true}","more":1}"#,
            r#"{"confirmed":true,"hint":1}"#,
            r#"{"confirmed":true,"reason":{}}"#,
            r#"{"confirmed":true,"requestHash":"abc"}"#,
            r#"{"confirmed":true,"editedArgs":{},"edited_args":{}}"#,
            r#"{"confirmed":true,"editedArgs":{"account":123456789012345678901}}"#,
            r#"{"confirmed":true,"payload":[0.1000000000000000055]}"#,
        ] {
            assert!(read(nonsense).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn args_key_of_operators_is_refused() {
        let refused = read(r#"{"confirmed":true,"args":{"n":1}}"#);
        let Err(UnfitAnswer::Malformed { problem }) = refused else {
            unreachable!("{refused:?}")
        };
        assert!(problem.contains("\"editedArgs\""), "{problem}");
    }

    #[test]
    fn everything_else_is_kept() {
        let hash = ObjectHash::of(b"the record");
        let text = format!(
            r#"{{"confirmed":true,"hint":"h","payload":{{"days":3}},"requestHash":"{hash}","editedArgs":{{"n":1}},"n":1.5}}"#
        );
        let mut expected = ToolConfirmation::confirmed()
            .with_payload(json!({"days": 3}))
            .with_args(json!({"n": 1}))
            .to_request(hash);
        expected.hint = Some("h".to_owned());
        expected.extra = serde_json::Map::from_iter([("n".to_owned(), json!(1.5))]);
        assert_eq!(read(&text), Ok(expected));
        let nothing = r#"{"confirmed":false,"hint":null,"reason":null,"payload":null,"editedArgs":null,"requestHash":null}"#;
        assert_eq!(read(nothing), Ok(ToolConfirmation::default()));
    }
}
