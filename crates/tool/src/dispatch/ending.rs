//! The end of a dispatcher's call: the record of a run, and the result for the caller.

use recount_session::{FunctionResponseScheduling, Json, Outcome, ToolReturned};
use serde_json::Value;

use super::calling::Call;
use super::next::Ended;
use crate::run::error::ToolError;

impl Call<'_> {
    pub(super) fn returned(
        &self,
        attempt: u32,
        result: &Result<Value, ToolError>,
        scheduling: Option<FunctionResponseScheduling>,
    ) -> ToolReturned {
        let shape = self.tools.terms().policies.response;
        let (response, error_kind) = match result {
            Ok(value) => (shape.success_text(value), None),
            Err(error) => {
                let response = Json::of(&shape.error(error.kind(), &error.to_string()));
                (response, Some(error.kind().to_owned()))
            }
        };
        ToolReturned {
            call: self.seq,
            attempt,
            failed: error_kind.is_some(),
            response,
            error_kind,
            scheduling,
            ends_session: None,
        }
    }

    /// Returns the interim value of a paused call. A dispatcher cannot receive its result later, so
    /// dropping the call cancels it.
    pub(super) fn paused(&self, interim: Option<Json>) -> Value {
        interim.map_or(Value::Null, |interim| interim.to_value())
    }

    pub(super) fn ended(&mut self, ended: Ended) -> Result<Value, ToolError> {
        self.over = true;
        let final_error = || {
            let response = ended.response.as_ref().map(Json::to_value);
            ToolError::of_response(&response.unwrap_or_default())
        };
        match ended.outcome {
            Outcome::Returned => match (self.result.take(), ended.reused) {
                (Some(Ok(own)), _) => Ok(own),
                (Some(Err(_)) | None, Some(reused)) => Ok(reused),
                (Some(Err(_)) | None, None) => Err(final_error()),
            },
            Outcome::Failed | Outcome::TimedOut => {
                self.result.take().unwrap_or_else(|| Err(final_error()))
            }
            Outcome::Interim
            | Outcome::Supplied
            | Outcome::Refused
            | Outcome::Denied
            | Outcome::Expired
            | Outcome::Cancelled
            | Outcome::Unknown
            | Outcome::Withdrawn => Err(final_error()),
        }
    }
}
