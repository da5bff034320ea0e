//! Calls of a session: their listing, and operations on one of them.

use axum::Json;
use axum::response::IntoResponse;
use recount::audit::{AuditedCall, calls_after};
use recount::control::{checked, finding};
use recount::engine::{Operation, Ticket};
use recount::session::{Seq, SessionId};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::caller::Caller;
use super::listing::Listing;
use super::outcome::of_control;
use super::shapes::{CallsShape, FindingShape, OnRecordShape};
use crate::access::Role;
use crate::problems::{Code, Problem};
use crate::requests::{Cursor, InPath, Params, Strict, StrictOrEmpty, call, session};

/// The bytes of arguments after which a page ends.
const PAGE_BYTES: usize = 8 << 20;

/// The result of a call that waits for it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Response {
    /// The result: a JSON object.
    #[schema(value_type = Object)]
    response: Box<RawValue>,
    /// True for an interim result, after which the call stays paused.
    #[serde(default)]
    interim: bool,
    /// The name of the tool. If given, the call must be of this tool.
    #[serde(default)]
    tool: Option<String>,
}

/// The outcome that was found for a call.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reconciliation {
    /// The outcome: `done` with the result, or `failed` with the reason.
    #[schema(value_type = FindingShape)]
    found: Box<RawValue>,
}

/// The cancellation of a call.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cancellation {
    /// The reason, which the model is told.
    #[serde(default)]
    reason: Option<String>,
}

/// Lists the calls of a session: who allowed each, its arguments and its outcome.
///
/// Each item has the keys of a row `call` of `recount audit decisions`. A page ends early after
/// 8 MiB of arguments. Its cost grows with the length of the session: the records before it are
/// read, and those behind it while later ones may change its calls. Few such requests run at the
/// same time; a further one waits.
#[utoipa::path(
    get,
    path = "/v1/sessions/{id}/calls",
    operation_id = "listCalls",
    tag = "sessions",
    params(
        ("id" = String, Path, description = "The id of the session"),
        ("limit" = Option<u16>, Query, description = "1 to 1000, 50 by default",
            minimum = 1, maximum = 1000),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),
    ),
    responses(
        (status = 200, description = "The calls, in the order of their records", body = CallsShape),
    ),
)]
pub(crate) async fn list(
    caller: Caller,
    InPath(id): InPath<String>,
    params: Params,
) -> Result<Json<Listing<AuditedCall>>, Problem> {
    params.only(&["limit", "cursor"])?;
    let id = session(&id)?;
    caller.session(id, Role::Viewer).await?;
    let (limit, cursor) = (params.limit()?, params.cursor()?);
    let after = match cursor {
        None => Seq(0),
        Some(Cursor::Item(session, seq)) if session == id => seq,
        Some(Cursor::Item(..) | Cursor::Session(_)) => {
            let detail = "the cursor is of another listing";
            return Err(Problem::new(Code::BadRequest, detail));
        }
    };
    let _place = caller.projecting().await?;
    let page = calls_after(caller.ledger(), id, after, limit, PAGE_BYTES).await?;
    let last = page.calls.last().filter(|_| page.more);
    let next = last.map(|it| Cursor::Item(id, it.seq));
    Ok(Listing::page(page.calls, next))
}

/// Supplies the result of a call that waits for it. Needs the role operator.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/calls/{call}/respond",
    operation_id = "respond",
    tag = "calls",
    params(
        ("id" = String, Path, description = "The id of the session"),
        ("call" = String, Path, description = "The call: the seq of its record, or its id"),
    ),
    request_body = Response,
    responses(
        (status = 200, description = "The result is recorded", body = OnRecordShape),
    ),
)]
pub(crate) async fn respond(
    caller: Caller,
    InPath((id, name)): InPath<(String, String)>,
    Strict(given): Strict<Response>,
) -> Result<impl IntoResponse, Problem> {
    let (session, call) = called(&caller, &id, &name).await?;
    let tool = match given.tool {
        Some(tool) => tool,
        None => caller
            .ledger()
            .tool_of(session, call)
            .await?
            .unwrap_or_default(),
    };
    let operation = Operation::Respond {
        ticket: Ticket {
            session,
            call,
            tool,
        },
        response: checked(&given.response).map_err(of_control)?,
        interim: given.interim,
    };
    caller.operate(operation).await
}

/// Records what a call did whose outcome was unknown when it ended. Needs the role operator.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/calls/{call}/reconcile",
    operation_id = "reconcile",
    tag = "calls",
    params(
        ("id" = String, Path, description = "The id of the session"),
        ("call" = String, Path, description = "The call: the seq of its record, or its id"),
    ),
    request_body = Reconciliation,
    responses(
        (status = 200, description = "The outcome is recorded", body = OnRecordShape),
    ),
)]
pub(crate) async fn reconcile(
    caller: Caller,
    InPath((id, name)): InPath<(String, String)>,
    Strict(Reconciliation { found }): Strict<Reconciliation>,
) -> Result<impl IntoResponse, Problem> {
    let (session, call) = called(&caller, &id, &name).await?;
    let found = finding(&found).map_err(of_control)?;
    let operation = Operation::Reconcile {
        session,
        call,
        found,
    };
    caller.operate(operation).await
}

/// Cancels an open call, whatever it waits for. Needs the role operator.
///
/// It undoes nothing: what a tool did before stays done.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/calls/{call}/cancel",
    operation_id = "cancel",
    tag = "calls",
    params(
        ("id" = String, Path, description = "The id of the session"),
        ("call" = String, Path, description = "The call: the seq of its record, or its id"),
    ),
    request_body = Option<Cancellation>,
    responses(
        (status = 200, description = "The call is cancelled", body = OnRecordShape),
    ),
)]
pub(crate) async fn cancel(
    caller: Caller,
    InPath((id, name)): InPath<(String, String)>,
    StrictOrEmpty(Cancellation { reason }): StrictOrEmpty<Cancellation>,
) -> Result<impl IntoResponse, Problem> {
    let (session, call) = called(&caller, &id, &name).await?;
    let operation = Operation::Cancel {
        session,
        call,
        reason,
    };
    caller.operate(operation).await
}

/// Returns the session and the call of a path, in which the caller is an operator.
async fn called(caller: &Caller, id: &str, name: &str) -> Result<(SessionId, Seq), Problem> {
    let session = session(id)?;
    caller.session(session, Role::Operator).await?;
    let call = caller.call(session, call(name)?).await?;
    Ok((session, call))
}
