//! The sinks of notifications, and their dead letters.

use axum::Json;
use axum::http::StatusCode;
use recount_notify::{Notifier, SinkStatus};

use super::caller::Caller;
use super::listing::Listing;
use super::shapes::SinksShape;
use crate::access::Role;
use crate::problems::{Code, Problem};
use crate::requests::{InPath, Params, message};

/// Lists the sinks of notifications with their dead letters. Needs the role operator in all
/// sessions.
#[utoipa::path(
    get,
    path = "/v1/sinks",
    operation_id = "listSinks",
    tag = "sinks",
    responses((status = 200, description = "The sinks by name", body = SinksShape)),
)]
pub(crate) async fn list(
    caller: Caller,
    params: Params,
) -> Result<Json<Listing<SinkStatus>>, Problem> {
    params.only(&[])?;
    // The messages of a sink are about the sessions of every tenant.
    caller.expect_everywhere(Role::Operator)?;
    let sinks = match &caller.service.notifier {
        Some(notifier) => notifier.sinks().await?,
        None => Vec::new(),
    };
    Ok(Listing::whole(sinks))
}

/// Sends a dead letter again, with the same id. Needs the role operator in all sessions.
#[utoipa::path(
    post,
    path = "/v1/sinks/{sink}/dead-letters/{letter}/retry",
    operation_id = "retryDeadLetter",
    tag = "sinks",
    params(
        ("sink" = String, Path, description = "The name of the sink"),
        ("letter" = String, Path, description = "The id of the message"),
    ),
    responses((status = 204, description = "The message waits for an attempt")),
)]
pub(crate) async fn retry(
    caller: Caller,
    InPath((sink, letter)): InPath<(String, String)>,
) -> Result<StatusCode, Problem> {
    caller.expect_everywhere(Role::Operator)?;
    let letter = message(&letter)?;
    notifier(&caller, &sink)?.retry(&sink, letter).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes a dead letter. Needs the role operator in all sessions.
#[utoipa::path(
    post,
    path = "/v1/sinks/{sink}/dead-letters/{letter}/discard",
    operation_id = "discardDeadLetter",
    tag = "sinks",
    params(
        ("sink" = String, Path, description = "The name of the sink"),
        ("letter" = String, Path, description = "The id of the message"),
    ),
    responses((status = 204, description = "The message is gone")),
)]
pub(crate) async fn discard(
    caller: Caller,
    InPath((sink, letter)): InPath<(String, String)>,
) -> Result<StatusCode, Problem> {
    caller.expect_everywhere(Role::Operator)?;
    let letter = message(&letter)?;
    notifier(&caller, &sink)?.discard(&sink, letter).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn notifier<'c>(caller: &'c Caller, sink: &str) -> Result<&'c Notifier, Problem> {
    let unknown = || Problem::new(Code::UnknownSink, format!("there is no sink {sink:?}"));
    caller.service.notifier.as_ref().ok_or_else(unknown)
}
