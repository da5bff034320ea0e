//! The sinks of notifications, and their dead letters.

use axum::Json;
use axum::http::StatusCode;
use recount_notify::{Notifier, SinkStatus};
use tokio::sync::watch;
use utoipa::ToSchema;

use super::caller::Caller;
use super::listing::Listing;
use super::shapes::SinksShape;
use crate::access::Role;
use crate::problems::{Code, Problem};
use crate::requests::{InPath, Params, message};

/// A sink of notifications.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document reads the fields, no value has them")]
pub(crate) struct SinkShape {
    /// The name.
    name: String,
    /// `webhook`, `slack`, `ntfy` or `command`.
    kind: String,
    /// The part of a call that messages contain: `none`, `names` or `arguments`.
    detail: String,
    /// The number of messages that were delivered since the start.
    delivered: u64,
    /// The number of attempts that failed since the start.
    failures: u64,
    /// The number of messages that wait for an attempt.
    queued: u64,
    /// The number of commits of the journal that the sink has not read yet.
    lag: u64,
    /// The time since which no attempt has succeeded, the file of the sink cannot be written, or
    /// the sink does not run, in microseconds since 1970. Null if all is well.
    failing_since_us: Option<i64>,
    /// The last error, or the reason why the sink does not run or its file cannot be written.
    error: Option<String>,
    /// The messages that are not tried any more, oldest first.
    dead_letters: Vec<DeadLetterShape>,
    /// The number of dead letters that were dropped for newer ones.
    dropped_dead_letters: u64,
}

/// A message that is not tried any more.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document reads the fields, no value has them")]
pub(crate) struct DeadLetterShape {
    /// The id of the message.
    id: String,
    /// The occasion, such as `asked`.
    occasion: String,
    /// The session. Null for a digest.
    session: Option<String>,
    /// The call. Null for a digest, and if the session cannot be read.
    call: Option<u64>,
    /// The time of the occasion, in microseconds since 1970.
    at_us: i64,
    /// The number of attempts.
    attempts: u32,
    /// The last error.
    reason: String,
    /// The time of the last attempt, in microseconds since 1970.
    since_us: i64,
}

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
    Ok(Listing::whole(all(&caller).await?))
}

/// Returns the sinks.
pub(crate) async fn all(caller: &Caller) -> Result<Vec<SinkStatus>, Problem> {
    // The messages of a sink are about the sessions of every tenant.
    caller.expect_everywhere(Role::Operator)?;
    match &caller.service.notifier {
        Some(notifier) => {
            let sinks = notifier.sinks().await?;
            let letters = sinks.iter().flat_map(|it| &it.dead_letters);
            letters
                .filter_map(|it| it.session)
                .for_each(|it| caller.shows(it));
            Ok(sinks)
        }
        None => Ok(Vec::new()),
    }
}

/// The number of changes of dead letters. `None` without sinks, and for a caller who may not read
/// them.
pub(crate) fn letters(caller: &Caller) -> Option<watch::Receiver<u64>> {
    let may_read = caller.principal.role_over_everything() >= Some(Role::Operator);
    let notifier = caller.service.notifier.as_ref().filter(|_| may_read)?;
    Some(notifier.letters())
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
    retry_one(&caller, &sink, &letter).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends a dead letter again, in the name of the caller.
pub(crate) async fn retry_one(caller: &Caller, sink: &str, letter: &str) -> Result<(), Problem> {
    caller.expect_everywhere(Role::Operator)?;
    let letter = message(letter)?;
    notifier(caller, sink)?.retry(sink, letter).await?;
    Ok(())
}

/// Sends all dead letters of a sink again, with the same ids. Needs the role operator in all
/// sessions.
#[utoipa::path(
    post,
    path = "/v1/sinks/{sink}/dead-letters/retry",
    operation_id = "retryDeadLetters",
    tag = "sinks",
    params(("sink" = String, Path, description = "The name of the sink")),
    responses((status = 204, description = "The messages wait for an attempt")),
)]
pub(crate) async fn retry_every(
    caller: Caller,
    InPath(sink): InPath<String>,
) -> Result<StatusCode, Problem> {
    retry_all(&caller, &sink).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends all dead letters of a sink again, in the name of the caller.
pub(crate) async fn retry_all(caller: &Caller, sink: &str) -> Result<(), Problem> {
    caller.expect_everywhere(Role::Operator)?;
    notifier(caller, sink)?.retry_all(sink).await?;
    Ok(())
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
    discard_one(&caller, &sink, &letter).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes a dead letter, in the name of the caller.
pub(crate) async fn discard_one(caller: &Caller, sink: &str, letter: &str) -> Result<(), Problem> {
    caller.expect_everywhere(Role::Operator)?;
    let letter = message(letter)?;
    notifier(caller, sink)?.discard(sink, letter).await?;
    Ok(())
}

fn notifier<'c>(caller: &'c Caller, sink: &str) -> Result<&'c Notifier, Problem> {
    let unknown = || Problem::new(Code::UnknownSink, format!("there is no sink {sink:?}"));
    caller.service.notifier.as_ref().ok_or_else(unknown)
}
