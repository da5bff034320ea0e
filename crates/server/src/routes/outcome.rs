//! Outcomes of operations as responses.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use recount::control;
use recount::control::OnRecord;
use recount::engine::{Operated, Operation};
use recount::session::RequestId;
use serde::Serialize;

use super::caller::Caller;
use crate::problems::{Code, Problem};

/// An operation that is on record: 200, or 202 if more approvals are needed.
pub(crate) struct Done(pub(crate) OnRecord);

impl Done {
    /// The status: 202 if the answer counts and more approvals are needed.
    pub(crate) fn status(&self) -> StatusCode {
        match self.0.missing {
            0 => StatusCode::OK,
            _ => StatusCode::ACCEPTED,
        }
    }
}

impl IntoResponse for Done {
    fn into_response(self) -> Response {
        (self.status(), Json(self.0)).into_response()
    }
}

impl Caller {
    /// Carries out an operation in the name of the caller.
    pub(crate) async fn operate(&self, operation: Operation) -> Result<Done, Problem> {
        let is_answer = matches!(operation, Operation::Answer { .. });
        let operated = self.service.engine.operate(operation, self.actor()).await?;
        let is_recorded = matches!(operated, Operated::OnRecord(_) | Operated::OnRecordBut(..));
        if is_answer && is_recorded {
            self.service.counters.answered();
        }
        match operated {
            Operated::OnRecord(on_record) => Ok(Done(on_record)),
            Operated::Refused(refusal) => Err(refusal.into()),
            Operated::OnRecordBut(on_record, error) => {
                Err(Problem::from(error).behind_record(on_record))
            }
        }
    }
}

/// The outcome of one of several answers. Exactly one of the last three is present.
#[derive(Serialize)]
pub(crate) struct OneOutcome {
    request: RequestId,
    /// The status that the answer alone would have had.
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<OnRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<Problem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Problem>,
}

/// The outcome of each answer, in the order given.
#[derive(Serialize)]
pub(crate) struct Outcomes {
    items: Vec<OneOutcome>,
}

impl Outcomes {
    pub(crate) fn of(items: Vec<OneOutcome>) -> Outcomes {
        Outcomes { items }
    }

    /// The number of answers that are on record.
    pub(crate) fn on_record(&self) -> usize {
        let items = self.items.iter();
        items.filter(|it| it.done.is_some()).count()
    }
}

impl IntoResponse for Outcomes {
    fn into_response(self) -> Response {
        let mut codes = self.items.iter().filter_map(OneOutcome::code);
        let momentary = codes.find(|it| it.is_momentary());
        let mut response = Json(self).into_response();
        if let Some(code) = momentary {
            // The answer is not kept, so a repetition answers what could not be answered now.
            response.extensions_mut().insert(code);
        }
        response
    }
}

impl OneOutcome {
    /// The code, if the answer is not on record.
    fn code(&self) -> Option<Code> {
        let problem = self.refused.as_ref().or(self.error.as_ref());
        problem.map(Problem::code)
    }

    pub(crate) fn of(request: RequestId, outcome: Result<Done, Problem>) -> OneOutcome {
        let mut one = OneOutcome {
            request,
            status: StatusCode::OK.as_u16(),
            done: None,
            refused: None,
            error: None,
        };
        match outcome {
            Ok(done) => {
                one.status = done.status().as_u16();
                one.done = Some(done.0);
            }
            Err(problem) => {
                let status = problem.code().status();
                one.status = status.as_u16();
                if problem.is_refusal() {
                    one.refused = Some(problem);
                } else {
                    one.error = Some(problem);
                }
            }
        }
        one
    }
}

/// The problem of input that the control protocol refuses, too.
pub(crate) fn of_control(problem: control::Problem) -> Problem {
    let code = match problem.code.as_str() {
        "bad_answer" => Code::BadAnswer,
        _ => Code::NotJson,
    };
    Problem::new(code, problem.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_with_a_problem_of_a_moment_are_marked() {
        let request: RequestId = "7c6f2b1e-0000-5000-8000-000000000007".parse().unwrap();
        let marked = |code| {
            let outcome = OneOutcome::of(request, Err(Problem::new(code, "a test")));
            let response = Outcomes::of(vec![outcome]).into_response();
            response.extensions().get::<Code>().copied()
        };
        assert_eq!(marked(Code::Conflict), Some(Code::Conflict));
        assert_eq!(marked(Code::NoSpace), Some(Code::NoSpace));
        assert_eq!(marked(Code::AlreadyAnswered), None);
    }
}
