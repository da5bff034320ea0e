//! A client's answer to a card, read together with the content of that card.

use serde_json::Value;

use super::answer::members_of;
use super::payload_form::PayloadForm;
use crate::session::{ConfirmationRequested, Json, UnfitAnswer};
use crate::tool::{ToolConfirmation, takes_payload};

/// A confirmation request as it was shown to a client.
pub(crate) struct Card<'c> {
    /// The recorded request.
    pub(crate) question: &'c ConfirmationRequested,
    /// The arguments that the request binds.
    pub(crate) args: &'c Json,
}

impl Card<'_> {
    /// Reads the answer, as [`confirmation_from`](super::confirmation_from) does.
    ///
    /// ADK's web page returns the payload of the card or, without one, the arguments of the call.
    /// So a payload equal to the arguments is dropped if the request asks for no payload. A yes
    /// without a payload means the payload on the card, if the schema's author wrote all of it.
    pub(crate) fn answer(&self, response: &Json) -> Result<ToolConfirmation, UnfitAnswer> {
        let mut members = members_of(response)?;
        let repeats = |payload: &Json| is_same(&payload.to_value(), &self.args.to_value());
        if !takes_payload(self.question) && members.get("payload").is_some_and(repeats) {
            members.remove("payload");
        }
        let mut confirmation = members.lenient()?;
        if confirmation.confirmed && confirmation.payload.is_none() {
            let schema = self.question.payload_schema.as_ref();
            confirmation.payload = schema.and_then(|it| PayloadForm::of(it).by_author());
        }
        Ok(confirmation)
    }
}

/// True if two values are equal after a round trip through JavaScript, as `1.0` and `1` are.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has = |(key, value)| other.get(key).is_some_and(|it| is_same(value, it));
            one.len() == other.len() && one.iter().all(has)
        }
        (one, other) => one == other,
    }
}
