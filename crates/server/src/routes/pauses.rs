//! The stop switch: pauses of sessions, tools, agents and everything.

use axum::Json;
use axum::response::IntoResponse;
use recount::engine::Operation;
use recount::ledger::{ListedPause, PauseTarget};
use recount::session::PauseScope;
use serde::Deserialize;
use utoipa::ToSchema;

use super::caller::Caller;
use super::listing::Listing;
use super::outcome::Done;
use super::shapes::{OnRecordShape, PausesShape, TargetShape};
use crate::access::{Principal, Role};
use crate::problems::Problem;
use crate::requests::{Params, Strict};

/// A pause to begin.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPause {
    /// The sessions and tools to pause.
    #[schema(value_type = TargetShape)]
    pub(crate) target: PauseTarget,
    /// The reason.
    #[serde(default)]
    pub(crate) reason: Option<String>,
    /// True to cancel the calls that run.
    #[serde(default)]
    pub(crate) cancel_running: bool,
}

/// A pause to end.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndOfPause {
    /// The paused sessions and tools.
    #[schema(value_type = TargetShape)]
    pub(crate) target: PauseTarget,
    /// The reason.
    #[serde(default)]
    pub(crate) reason: Option<String>,
}

/// Lists the pauses in force that hold sessions of the caller.
#[utoipa::path(
    get,
    path = "/v1/pauses",
    operation_id = "listPauses",
    tag = "pauses",
    responses((status = 200, description = "The pauses in force", body = PausesShape)),
)]
pub(crate) async fn list(
    caller: Caller,
    params: Params,
) -> Result<Json<Listing<ListedPause>>, Problem> {
    params.only(&[])?;
    Ok(Listing::whole(visible(&caller).await?))
}

/// Returns the pauses in force that hold sessions of the caller.
pub(crate) async fn visible(caller: &Caller) -> Result<Vec<ListedPause>, Problem> {
    let mut visible = Vec::new();
    for pause in caller.ledger().pauses().await? {
        let is_visible = match pause.session {
            Some(session) => caller.sees(session).await?,
            None => is_heard(&caller.principal, &pause.pause.scope),
        };
        if is_visible {
            pause.session.inspect(|it| caller.shows(*it));
            visible.push(pause);
        }
    }
    Ok(visible)
}

/// True if a pause of this scope in the journal's own stream may hold sessions of the principal.
pub(crate) fn is_heard(principal: &Principal, scope: &PauseScope) -> bool {
    match scope {
        PauseScope::Agent(agent) => principal.reads_of(Some(agent)),
        PauseScope::Everything | PauseScope::Session | PauseScope::Tool(_) => {
            principal.reads_of(None)
        }
    }
}

/// Pauses a session, a tool in it, an agent, or everything: nothing in it starts.
///
/// Needs the role operator in all sessions that the pause holds.
#[utoipa::path(
    post,
    path = "/v1/pause",
    operation_id = "pause",
    tag = "pauses",
    request_body = NewPause,
    responses(
        (status = 200, description = "The pause is in force", body = OnRecordShape),
    ),
)]
pub(crate) async fn pause(
    caller: Caller,
    Strict(new): Strict<NewPause>,
) -> Result<impl IntoResponse, Problem> {
    begin(&caller, new).await
}

/// Begins a pause in the name of the caller.
pub(crate) async fn begin(caller: &Caller, new: NewPause) -> Result<Done, Problem> {
    expect_operator(caller, &new.target).await?;
    let operation = Operation::Pause {
        target: new.target,
        reason: new.reason,
        cancel_running: new.cancel_running,
    };
    caller.operate(operation).await
}

/// Ends a pause. Its calls start, unless another pause holds them.
///
/// Needs the role operator in all sessions that the pause holds.
#[utoipa::path(
    post,
    path = "/v1/unpause",
    operation_id = "unpause",
    tag = "pauses",
    request_body = EndOfPause,
    responses(
        (status = 200, description = "The pause has ended", body = OnRecordShape),
    ),
)]
pub(crate) async fn unpause(
    caller: Caller,
    Strict(ended): Strict<EndOfPause>,
) -> Result<impl IntoResponse, Problem> {
    end(&caller, ended).await
}

/// Ends a pause in the name of the caller.
pub(crate) async fn end(caller: &Caller, ended: EndOfPause) -> Result<Done, Problem> {
    let EndOfPause { target, reason } = ended;
    expect_operator(caller, &target).await?;
    caller.operate(Operation::Unpause { target, reason }).await
}

/// Checks that the caller is an operator of everything that the target holds.
pub(crate) async fn expect_operator(caller: &Caller, target: &PauseTarget) -> Result<(), Problem> {
    match target {
        PauseTarget::Session(session) | PauseTarget::Tool { session, .. } => {
            caller.session(*session, Role::Operator).await.map(drop)
        }
        PauseTarget::Agent(agent) => caller.expect_over_agent(agent, Role::Operator),
        PauseTarget::Everything => caller.expect_everywhere(Role::Operator),
    }
}
