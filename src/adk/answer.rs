//! What a client says to a confirmation request, read strictly.

use std::collections::BTreeMap;

use crate::session::Json;
use crate::tool::ToolConfirmation;

/// A client's answer to a confirmation request.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfirmationAnswer {
    /// What it says.
    pub confirmation: ToolConfirmation,
    /// What else it holds, which means nothing here.
    pub extra: BTreeMap<String, Json>,
}

/// What came is no answer, so the request stays open: silence and nonsense are no consent, and no denial either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer is malformed: {problem}")]
pub struct MalformedAnswer {
    /// What is wrong with it.
    pub problem: String,
}

impl ConfirmationAnswer {
    /// Reads the `response` of a FunctionResponse.
    ///
    /// `confirmed` must be there and a boolean; `hint` and `reason` are texts, `payload` is anything, and each of them may
    /// be absent or `null`. Some clients put the whole in a text: `{"response":"{\"confirmed\":true}"}`.
    ///
    /// ```
    /// use recount::adk::ConfirmationAnswer;
    /// use recount::session::Json;
    ///
    /// let read = |text: &str| ConfirmationAnswer::read(&Json::parse(text).unwrap());
    /// assert!(read(r#"{"confirmed":true,"payload":null}"#)?.confirmation.confirmed);
    /// assert!(read(r#"{"response":"{\"confirmed\": true}"}"#)?.confirmation.confirmed);
    /// let denied = read(r#"{"confirmed":false,"reason":"too much","comment":"x"}"#)?;
    /// assert_eq!(denied.confirmation.reason.as_deref(), Some("too much"));
    /// assert!(denied.extra.contains_key("comment"));
    /// for nonsense in ["{}", "\"yes\"", "1", "null", r#"{"confirmed":"yes"}"#, r#"{"approved":true}"#] {
    ///     assert!(read(nonsense).is_err());
    /// }
    /// # Ok::<(), recount::adk::MalformedAnswer>(())
    /// ```
    ///
    /// # Errors
    /// [`MalformedAnswer`].
    pub fn read(response: &Json) -> Result<ConfirmationAnswer, MalformedAnswer> {
        let mut members = unwrapped(members(response)?)?;
        let confirmed = match members.remove("confirmed") {
            None => return Err(malformed("it does not say \"confirmed\"")),
            Some(confirmed) => boolean(&confirmed)?,
        };
        let mut confirmation = ToolConfirmation::default();
        confirmation.confirmed = confirmed;
        confirmation.hint = text(&mut members, "hint")?;
        confirmation.reason = text(&mut members, "reason")?;
        let payload = members.remove("payload").filter(|it| it.as_str() != "null");
        confirmation.payload = payload.map(|payload| payload.to_value());
        Ok(ConfirmationAnswer {
            confirmation,
            extra: members,
        })
    }
}

/// The members of an object.
fn members(json: &Json) -> Result<BTreeMap<String, Json>, MalformedAnswer> {
    serde_json::from_str(json.as_str()).map_err(|_| malformed("it is not an object"))
}

/// The object in the text, where there is only that.
fn unwrapped(members: BTreeMap<String, Json>) -> Result<BTreeMap<String, Json>, MalformedAnswer> {
    let wrapped = match members.get("response") {
        Some(wrapped) if members.len() == 1 => wrapped,
        Some(_) | None => return Ok(members),
    };
    let Ok(text) = serde_json::from_str::<String>(wrapped.as_str()) else {
        return Ok(members);
    };
    let inner = Json::parse(&text)
        .map_err(|problem| malformed(&format!("the text under \"response\" is {problem}")))?;
    self::members(&inner)
}

fn boolean(json: &Json) -> Result<bool, MalformedAnswer> {
    match json.as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        other => {
            let found: String = other.chars().take(40).collect();
            Err(malformed(&format!(
                "\"confirmed\" must be true or false, got {found}"
            )))
        }
    }
}

fn text(
    members: &mut BTreeMap<String, Json>,
    key: &str,
) -> Result<Option<String>, MalformedAnswer> {
    match members.remove(key) {
        None => Ok(None),
        // `null` reads as no text.
        Some(json) => serde_json::from_str(json.as_str())
            .map_err(|_| malformed(&format!("{key:?} must be a text"))),
    }
}

fn malformed(problem: &str) -> MalformedAnswer {
    MalformedAnswer {
        problem: problem.to_owned(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<ConfirmationAnswer, String> {
        ConfirmationAnswer::read(&Json::parse(text).unwrap()).map_err(|it| it.problem)
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
        ] {
            assert!(read(nonsense).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn everything_else_is_kept() {
        let read = read(r#"{"confirmed":true,"hint":"h","payload":{"days":3},"n":1.0}"#).unwrap();
        let mut expected = ToolConfirmation::confirmed().with_payload(json!({"days": 3}));
        expected.hint = Some("h".to_owned());
        assert_eq!(read.confirmation, expected);
        let extra: Vec<_> = read
            .extra
            .iter()
            .map(|(key, it)| (key.as_str(), it.as_str()))
            .collect();
        assert_eq!(extra, [("n", "1.0")]);
    }
}
