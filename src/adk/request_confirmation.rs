//! The call by which a client is asked to confirm another call.

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
    /// What is asked.
    pub tool_confirmation: Unanswered,
}

/// A ToolConfirmation that nobody has answered yet.
///
/// ```json
/// {"hint":"How many days?","confirmed":false,"payload":{"days":0},
///  "payloadSchema":{"type":"object","required":["days"],"properties":{"days":{"type":"integer"}}}}
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unanswered {
    /// What the person is told.
    pub hint: String,
    /// Always false: there is no answer yet.
    pub confirmed: bool,
    /// The payload that the client offers its user, of the shape that a yes must bring. Absent
    /// where no payload is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
    /// The JSON Schema that the payload of a yes must fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_schema: Option<Json>,
}

impl Unanswered {
    /// The question about a call of `tool`, in the words of its author where there are any.
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

    /// The same question, which asks for a payload that fits this JSON Schema.
    ///
    /// The offered payload has the constants and defaults of the schema, then its first examples,
    /// and otherwise the zero of each type; only what is required, or has a default, is in it.
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
    /// The call that asks, under the id that an answer must have.
    ///
    /// ```
    /// use recount::adk::{Call, CallArgs, Confirmation, REQUEST_CONFIRMATION, Unanswered};
    /// use recount::session::{About, Json, RequestId, Seq, SessionId};
    ///
    /// let args = CallArgs::Given(Json::parse(r#"{"amount":50}"#)?);
    /// let call = Call { id: Some("fc-1".into()), name: "transfer".into(), args };
    /// let asked = Unanswered::about(About::Gate, "transfer", Some("Send the money?"));
    /// let id: RequestId = SessionId(uuid::Uuid::nil()).request_id(Seq(7));
    /// let asks = Confirmation { original_function_call: call, tool_confirmation: asked }.into_call(id);
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
