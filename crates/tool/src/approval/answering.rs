//! The checks of an answer before it goes to its session, against the recorded request and the
//! schemas.
//!
//! Replay needs neither of them, so the check happens at admission. Its finding is recorded with
//! the rejection.

use recount_session::{
    About, ConfirmationRequested, Json, ObjectHash, ToolConfirmation, UnfitAnswer,
};
use serde_json::Value;

use crate::schema::arguments::fits_schema;

/// True if an answer may have a payload.
///
/// Either the request has a payload schema, or the tool itself asked and receives the whole answer.
#[doc(hidden)]
pub fn takes_payload(question: &ConfirmationRequested) -> bool {
    match question.about {
        About::Tool => true,
        About::Gate | About::InDoubt => question.payload_schema.is_some(),
    }
}

/// The request to check an answer against.
#[doc(hidden)]
pub struct Asked<'a> {
    /// The recorded request.
    pub question: &'a ConfirmationRequested,
    /// The hash of that record, if it has one.
    pub hash: Option<ObjectHash>,
    /// The arguments to approve.
    pub args: &'a Json,
    /// The JSON Pointers of the sealed arguments.
    pub sealed: &'a [String],
    /// The tool's parameter schema.
    pub parameters: Option<&'a Value>,
}

impl Asked<'_> {
    /// Returns the answer if it fits the request. `open` decrypts sealed arguments for the check
    /// against the schema.
    #[doc(hidden)]
    pub fn fit(
        &self,
        answer: ToolConfirmation,
        open: impl FnOnce(&Json) -> Option<Json>,
    ) -> Result<ToolConfirmation, UnfitAnswer> {
        if let (Some(expected), Some(found)) = (self.hash, answer.request_hash)
            && expected != found
        {
            return Err(UnfitAnswer::OtherRequest { expected, found });
        }
        let has_payload = answer.payload.as_ref().is_some_and(|it| !it.is_null());
        if has_payload && !takes_payload(self.question) && !answer.was_taken_before() {
            let problem = "this request asks for none; a gate asks for one by its payload schema";
            return Err(UnfitAnswer::InvalidPayload {
                problem: problem.to_owned(),
            });
        }
        if let Some(schema) = self
            .question
            .payload_schema
            .as_ref()
            .filter(|_| answer.confirmed)
        {
            let payload = answer.payload.as_ref().unwrap_or(&Value::Null);
            fits_schema(&schema.to_value(), payload).map_err(|problem| {
                let problem = match answer.payload {
                    Some(_) => problem,
                    None => "a yes to this request comes with one, and this has none".to_owned(),
                };
                UnfitAnswer::InvalidPayload { problem }
            })?;
        }
        if let Some(edited) = &answer.args {
            self.check_edited(&Json::of(edited), open)
                .map_err(|problem| UnfitAnswer::InvalidArgs { problem })?;
        }
        Ok(answer)
    }

    fn check_edited(
        &self,
        edited: &Json,
        open: impl FnOnce(&Json) -> Option<Json>,
    ) -> Result<(), String> {
        if !edited.is_object() {
            return Err("expected a JSON object of arguments".to_owned());
        }
        let touched = |pointer: &&String| edited.text_at(pointer) != self.args.text_at(pointer);
        if let Some(pointer) = self.sealed.iter().find(touched) {
            return Err(format!(
                "expected what is sealed at {pointer} as it stands in the request"
            ));
        }
        let opened = open(edited)
            .ok_or("what is sealed cannot be opened here, so nothing can be changed")?;
        let Some(schema) = self.parameters else {
            return Ok(());
        };
        // The record must not quote a sealed value.
        fits_schema(schema, &opened.to_value()).map_err(|problem| {
            if self.sealed.is_empty() {
                problem
            } else {
                "the tool's schema has something against them".to_owned()
            }
        })
    }
}

#[cfg(test)]
#[path = "answering_tests.rs"]
mod tests;
