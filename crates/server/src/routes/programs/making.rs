//! Calls that a program makes: one with an idempotency key, and its phase or outcome.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use recount::control::{Refusal, checked};
use recount::engine::{BegunCall, Error, Operated, Operation};
use recount::ledger;
use recount::session::{Json as RawJson, Seq, SessionId};
use recount_journal::{self as journal, Commit};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::timeout;
use utoipa::ToSchema;

use super::call_state::{CallState, state_of};
use super::opening::location;
use crate::access::Role;
use crate::driving::{NewCall, ends_a_call, wake_after};
use crate::problems::Problem;
use crate::requests::{CallKey, InPath, Params, Preferred, Strict, call, session};
use crate::routes::caller::{Caller, not_driving_the_tool};
use crate::routes::outcome::of_control;
use crate::routes::shapes::CallStateShape;

/// A call to make.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallToMake {
    /// The name of the tool.
    tool: String,
    /// The arguments: a JSON object. Empty by default.
    #[serde(default)]
    #[schema(value_type = Object)]
    args: Option<Box<RawValue>>,
}

/// Calls a tool, as a model would, with the same policies, approvals and records.
///
/// Needs the role client or operator. `Idempotency-Key` is required: the same key and the same text
/// are the same call, also after a restart. With `Prefer: wait=N` the response has the outcome if
/// the call ends within so many seconds, at most 60. Otherwise the call continues without the
/// client, and `Location` has its path.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/calls",
    operation_id = "makeCall",
    tag = "programs",
    params(
        ("id" = String, Path, description = "The id of the session"),
        ("Idempotency-Key" = String, Header,
            description = "1 to 200 characters, not secret: they are recorded"),
        ("Prefer" = Option<String>, Header, description = "`wait=N`: the seconds to wait"),
    ),
    request_body = CallToMake,
    responses(
        (status = 200, description = "The call has ended", body = CallStateShape),
        (status = 202, description = "The call is on record and open; Location has its path",
            body = CallStateShape),
        (status = 409, description = "The key is of a call with another text, or the session is \
            closed", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "Not now", body = Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn make(
    caller: Caller,
    InPath(id): InPath<String>,
    CallKey(key): CallKey,
    Preferred(wait): Preferred,
    Strict(new): Strict<CallToMake>,
) -> Result<Response, Problem> {
    let session = session(&id)?;
    caller.driven(session, Some(&new.tool)).await?;
    let args = match &new.args {
        Some(args) => checked(args).map_err(of_control)?,
        None => RawJson::empty_object(),
    };
    // Before the record, so that a refused request has made no call.
    let _place = match wait.is_zero() {
        true => None,
        false => Some(caller.service.waits.take("waiting requests")?),
    };
    let new = NewCall {
        tool: new.tool,
        args,
        key,
        by: caller.actor(),
    };
    let made = made(&caller, session, &new).await?;
    let (call, repeated) = (made.call, made.repeated);
    let drained_or_ended = async {
        tokio::select! {
            // The outcome is read from the record, as for every later reader.
            () = made.ended(&caller, session) => {}
            () = caller.service.drained() => {}
        }
    };
    // A timeout of zero would wait for the next tick of the timer, a millisecond.
    if !wait.is_zero() {
        // At the end of the time, the call continues without this request.
        let _ = timeout(wait, drained_or_ended).await;
    }
    if !wait.is_zero() {
        caller.check_again().await?;
    }
    let state = state_of(&caller.service.engine, session, call).await?;
    respond(state.repeated(repeated), call)
}

/// A call on record.
struct Made {
    call: Seq,
    repeated: bool,
    /// The call in this process. `None` if the session belongs to another node.
    here: Option<BegunCall>,
}

/// Makes a call, here or at the node that owns the session.
async fn made(caller: &Caller, session: SessionId, new: &NewCall) -> Result<Made, Problem> {
    let service = &caller.service;
    match service.held.begin(&service.engine, session, new).await {
        Ok(begun) => {
            return Ok(Made {
                call: begun.call,
                repeated: begun.repeated,
                here: Some(begun),
            });
        }
        Err(Error::Refused(rejection)) => {
            let refusal = Refusal::of(caller.ledger(), session, &rejection).await;
            return Err(refusal.into());
        }
        Err(Error::Ledger(ledger::Error::Journal(journal::Error::Owned { .. }))) => {}
        Err(error) => return Err(error.into()),
    }
    let operation = Operation::Call {
        session,
        tool: new.tool.clone(),
        args: new.args.clone(),
        key: new.key.clone(),
    };
    match service.engine.operate(operation, new.by.clone()).await? {
        Operated::OnRecord(it) | Operated::OnRecordBut(it, _) => Ok(Made {
            call: it.seq,
            repeated: it.repeated,
            here: None,
        }),
        Operated::Refused(refusal) => Err(refusal.into()),
    }
}

impl Made {
    /// Waits until the call has ended, or nothing can be learned here.
    async fn ended(self, caller: &Caller, session: SessionId) {
        if let Some(here) = self.here {
            let _ = here.outcome().await;
            return;
        }
        let look = async {
            // Taken before the first look, so that no end is missed.
            let position = caller.ledger().journal().position().await?;
            let state = state_of(&caller.service.engine, session, self.call).await?;
            if !state.has_ended() {
                ended(caller, session, self.call, position).await?;
            }
            Ok::<(), Problem>(())
        };
        // The state is read after it in any case.
        let _ = look.await;
    }
}

fn respond(state: CallState, call: Seq) -> Result<Response, Problem> {
    if state.has_ended() {
        return Ok(Json(state).into_response());
    }
    let location = location(&format!("calls/{call}"))?;
    let headers = [(header::LOCATION, location)];
    Ok((StatusCode::ACCEPTED, headers, Json(state)).into_response())
}

/// Returns a call: its phase, or its outcome once it has ended.
///
/// A client without another role sees the calls of its tools. With `wait`, the response comes once
/// the call ends, or after so many seconds, at most 60.
#[utoipa::path(
    get,
    path = "/v1/sessions/{id}/calls/{call}",
    operation_id = "getCall",
    tag = "programs",
    params(
        ("id" = String, Path, description = "The id of the session"),
        ("call" = String, Path, description = "The call: the seq of its record, or its id"),
        ("wait" = Option<u64>, Query, description = "The seconds to wait for the end"),
    ),
    responses(
        (status = 200, description = "The call", body = CallStateShape),
    ),
)]
pub(crate) async fn get(
    caller: Caller,
    InPath((id, name)): InPath<(String, String)>,
    params: Params,
) -> Result<Json<CallState>, Problem> {
    params.only(&["wait"])?;
    let (id, wait) = (session(&id)?, params.wait()?);
    let known = caller.session(id, Role::Client).await?;
    let call = caller.call(id, call(&name)?).await?;
    // Taken before the first look, so that no end is missed.
    let position = caller.ledger().journal().position().await?;
    let state = state_of(&caller.service.engine, id, call).await?;
    if !caller.reads(&known) && !caller.drives(&known, Some(state.tool())) {
        return Err(not_driving_the_tool());
    }
    if state.has_ended() || wait.is_zero() {
        return Ok(Json(state));
    }
    let service = &caller.service;
    let _place = service.waits.take("waiting requests")?;
    let ended = async {
        tokio::select! {
            ended = ended(&caller, id, call, position) => ended,
            () = service.drained() => Ok(None),
        }
    };
    let ended = timeout(wait, ended).await;
    caller.check_again().await?;
    match ended {
        Ok(Ok(Some(ended))) => Ok(Json(ended)),
        Ok(Err(problem)) => Err(problem),
        // Meanwhile it may have reached another phase.
        Ok(Ok(None)) | Err(_) => Ok(Json(state_of(&caller.service.engine, id, call).await?)),
    }
}

/// Waits until a call has ended.
async fn ended(
    caller: &Caller,
    session: SessionId,
    call: Seq,
    mut position: u64,
) -> Result<Option<CallState>, Problem> {
    loop {
        let ends = |commit: &Commit| ends_a_call(commit, session);
        position = wake_after(caller.ledger(), position, ends).await?;
        let state = state_of(&caller.service.engine, session, call).await?;
        if state.has_ended() {
            return Ok(Some(state));
        }
    }
}
