//! What an answer is held against before it goes to its session: the record of the question, and
//! the schemas.
//!
//! A session replays without any of them, so this is looked at at the door, and what it finds goes
//! on record with the refusal.

use recount_session::{
    About, ConfirmationRequested, Json, ObjectHash, ToolConfirmation, UnfitAnswer,
};
use serde_json::Value;

use crate::schema::arguments::fits_schema;

/// True if an answer may bring a payload: the question has a schema for one, or its tool asks
/// itself and is handed the whole answer.
#[doc(hidden)]
pub fn takes_payload(question: &ConfirmationRequested) -> bool {
    match question.about {
        About::Tool => true,
        About::Gate | About::InDoubt => question.payload_schema.is_some(),
    }
}

/// What was asked, as its door knows it.
#[doc(hidden)]
pub struct Asked<'a> {
    /// The question on record.
    pub question: &'a ConfirmationRequested,
    /// The hash of that record, where there is one.
    pub hash: Option<ObjectHash>,
    /// The arguments that are asked about.
    pub args: &'a Json,
    /// The JSON Pointers of those that are sealed.
    pub sealed: &'a [String],
    /// The tool's parameter schema.
    pub parameters: Option<&'a Value>,
}

impl Asked<'_> {
    /// The answer, unless something is wrong with it. `open` puts what is sealed back in clear, to
    /// be held against the schema.
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
        // Nothing that is sealed may be quoted on record.
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
