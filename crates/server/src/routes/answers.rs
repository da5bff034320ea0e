//! Answers to confirmation requests: one, several, and the denial of all in a session.

use axum::response::IntoResponse;
use recount::control::confirmation;
use recount::engine::{Operation, ToolConfirmation};
use recount::ledger::PendingConfirmation;
use recount::session::{RequestId, SessionId};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::caller::Caller;
use super::outcome::{OneOutcome, Outcomes};
use super::shapes::{AnswerShape, OnRecordShape, OutcomesShape};
use crate::access::Role;
use crate::problems::{Code, Problem};
use crate::requests::{InPath, Strict, StrictOrEmpty, request, session};

/// The maximum number of requests in one body.
const REQUESTS_MAX: usize = 1000;

/// One answer to several requests.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeveralAnswers {
    /// The requests. One that is given twice is answered once.
    #[schema(value_type = Vec<String>, min_items = 1, max_items = 1000)]
    requests: Vec<RequestId>,
    /// The answer to each of them.
    #[schema(value_type = AnswerShape)]
    answer: Box<RawValue>,
}

/// The denial of all open requests of a session.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DenyAll {
    /// The reason, which the model is told.
    #[serde(default)]
    reason: Option<String>,
}

/// Answers a confirmation request.
///
/// The first answer counts. Needs the role approver, and the answer must meet the request's terms.
#[utoipa::path(
    post,
    path = "/v1/requests/{id}/answer",
    operation_id = "answer",
    tag = "approvals",
    params(("id" = String, Path, description = "The id of the request")),
    request_body = AnswerShape,
    responses(
        (status = 200, description = "The answer is recorded", body = OnRecordShape),
        (status = 202, description = "Recorded; more approvals are needed", body = OnRecordShape),
        (status = 503, description = "Not now", body = Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn answer(
    caller: Caller,
    InPath(id): InPath<String>,
    Strict(answer): Strict<Box<RawValue>>,
) -> Result<impl IntoResponse, Problem> {
    let known = caller.request(request(&id)?, Role::Approver).await?;
    let given = confirmation(&answer);
    let request = known.id;
    caller.operate(Operation::Answer { request, given }).await
}

/// Gives one answer to several confirmation requests.
///
/// Each answer is recorded on its own and has an outcome of its own.
#[utoipa::path(
    post,
    path = "/v1/answers",
    operation_id = "answerSeveral",
    tag = "approvals",
    request_body = SeveralAnswers,
    responses(
        (status = 200, description = "The outcome of each answer", body = OutcomesShape),
        (status = "4XX", description = "Refused as a whole", body = Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn several(
    caller: Caller,
    Strict(several): Strict<SeveralAnswers>,
) -> Result<Outcomes, Problem> {
    let found = several.requests.len();
    if found == 0 || found > REQUESTS_MAX {
        let detail = format!("requests: expected 1 to {REQUESTS_MAX} ids, found {found}");
        return Err(Problem::new(Code::BadRequest, detail));
    }
    let given = confirmation(&several.answer);
    let mut items: Vec<OneOutcome> = Vec::with_capacity(found);
    let mut seen = std::collections::BTreeSet::new();
    for id in several.requests {
        if !seen.insert(id) {
            continue;
        }
        let outcome = match caller.request(id, Role::Approver).await {
            Ok(_) => {
                let (request, given) = (id, given.clone());
                caller.operate(Operation::Answer { request, given }).await
            }
            Err(problem) => Err(problem),
        };
        items.push(OneOutcome::of(id, outcome));
    }
    Ok(Outcomes::of(items))
}

/// Denies every confirmation request that is open in a session now.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/deny-all",
    operation_id = "denyAll",
    tag = "approvals",
    params(("id" = String, Path, description = "The id of the session")),
    request_body = Option<DenyAll>,
    responses(
        (status = 200, description = "The outcome of each denial", body = OutcomesShape),
        (status = "4XX", description = "Refused as a whole", body = Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn deny_all(
    caller: Caller,
    InPath(id): InPath<String>,
    StrictOrEmpty(DenyAll { reason }): StrictOrEmpty<DenyAll>,
) -> Result<Outcomes, Problem> {
    denied_all(&caller, session(&id)?, reason, |_| true).await
}

/// Denies the open requests of a session that are chosen, each on its own.
pub(crate) async fn denied_all(
    caller: &Caller,
    session: SessionId,
    reason: Option<String>,
    is_chosen: impl Fn(&PendingConfirmation) -> bool,
) -> Result<Outcomes, Problem> {
    caller.session(session, Role::Approver).await?;
    let denial = reason.map_or_else(ToolConfirmation::default, ToolConfirmation::denied);
    let mut items = Vec::new();
    let open = caller.ledger().pending_in(session).await?;
    for open in open.into_iter().filter(|it| is_chosen(it)) {
        let operation = Operation::Answer {
            request: open.id,
            given: Ok(denial.clone()),
        };
        items.push(OneOutcome::of(open.id, caller.operate(operation).await));
    }
    Ok(Outcomes::of(items))
}
