//! The call that asks a client to confirm another call.

use serde::Serialize;

use super::event::{Call, CallArgs};
use super::payload_form::PayloadForm;
use crate::session::{About, Json, RequestId};

/// The name of the call that asks a client to confirm another one.
///
/// ```
/// assert_eq!(recount::adk::REQUEST_CONFIRMATION, "adk_request_confirmation");
/// ```
pub const REQUEST_CONFIRMATION: &str = "adk_request_confirmation";

/// The arguments of a call of [`REQUEST_CONFIRMATION`].
///
/// ```json
/// {"originalFunctionCall":{"id":"fc-1","name":"transfer","args":{"amount":50,"to":"bob"}},
///  "toolConfirmation":{"hint":"Send the money?","confirmed":false}}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Confirmation {
    /// The call that waits.
    pub original_function_call: Call,
    /// The question.
    pub tool_confirmation: Unanswered,
}

/// A ToolConfirmation without an answer.
///
/// ```json
/// {"hint":"How many days?","confirmed":false,"payload":{"days":0},
///  "payloadSchema":{"type":"object","required":["days"],"properties":{"days":{"type":"integer"}}}}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unanswered {
    /// The text shown to the approver.
    pub hint: String,
    /// Always false, because there is no answer yet.
    pub confirmed: bool,
    /// The payload that the client offers its user, of the shape that a yes must have. Absent if
    /// the request asks for no payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
    /// The JSON Schema that the payload of a yes must fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_schema: Option<Json>,
}

impl Unanswered {
    /// Creates the question about a call of `tool`, with the author's text if there is one.
    ///
    /// ```
    /// use recount::adk::Unanswered;
    /// use recount::session::About;
    ///
    /// let asked = Unanswered::about(About::Gate, "transfer", None);
    /// assert_eq!(asked.hint, "Please approve or reject the tool call transfer().");
    /// let again = Unanswered::about(About::InDoubt, "transfer", Some("Send the money?"));
    /// assert_eq!(again.hint, "The call may have run already; may it run again? Send the money?");
    /// ```
    pub fn about(about: About, tool: &str, hint: Option<&str>) -> Unanswered {
        let hint = match hint {
            Some(hint) => hint.to_owned(),
            None => format!("Please approve or reject the tool call {tool}()."),
        };
        let hint = match about {
            About::Gate | About::Tool => hint,
            About::InDoubt => format!("The call may have run already; may it run again? {hint}"),
        };
        Unanswered {
            hint,
            confirmed: false,
            payload: None,
            payload_schema: None,
        }
    }

    /// Adds to the question a payload that must fit this JSON Schema.
    ///
    /// The offered payload consists of the schema's constants and defaults, then its first
    /// examples, then the zero value of each type. It contains only properties that are required or
    /// have a default.
    ///
    /// ```
    /// use recount::adk::Unanswered;
    /// use recount::session::{About, Json};
    ///
    /// let schema = Json::of(&serde_json::json!({
    ///     "type": "object",
    ///     "required": ["days", "cover"],
    ///     "properties": {"days": {"type": "integer", "default": 3}, "cover": {"type": "string"}},
    /// }));
    /// let asked = Unanswered::about(About::Gate, "leave", None).asking_for(&schema);
    /// let offered = asked.payload.unwrap().to_value();
    /// assert_eq!(offered, serde_json::json!({"days": 3, "cover": ""}));
    /// assert_eq!(asked.payload_schema, Some(schema));
    /// ```
    #[must_use]
    pub fn asking_for(mut self, schema: &Json) -> Unanswered {
        self.payload = PayloadForm::of(schema).shown();
        self.payload_schema = Some(schema.clone());
        self
    }
}

impl Confirmation {
    /// Creates the call that asks, with the id that the answer must repeat.
    ///
    /// ```
    /// use recount::adk::{Call, CallArgs, Confirmation, REQUEST_CONFIRMATION, Unanswered};
    /// use recount::session::{About, Json, RequestId, Seq, SessionId};
    ///
    /// let args = CallArgs::Given(Json::parse(r#"{"amount":50}"#)?);
    /// let call = Call { id: Some("fc-1".into()), name: "transfer".into(), args };
    /// let asked = Unanswered::about(About::Gate, "transfer", Some("Send the money?"));
    /// let id: RequestId = SessionId(uuid::Uuid::nil()).request_id(Seq(7));
    /// let asks = Confirmation {
    ///     original_function_call: call,
    ///     tool_confirmation: asked,
    /// }
    /// .into_call(id);
    /// assert_eq!((asks.id, asks.name.as_str()), (Some(id.to_string()), REQUEST_CONFIRMATION));
    /// # Ok::<(), recount::session::JsonProblem>(())
    /// ```
    pub fn into_call(self, request: RequestId) -> Call {
        Call {
            id: Some(request.to_string()),
            name: REQUEST_CONFIRMATION.to_owned(),
            args: CallArgs::Confirmation(Box::new(self)),
        }
    }
}
