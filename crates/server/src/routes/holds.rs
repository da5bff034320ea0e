//! Legal holds, which keep sessions from erasure.

use axum::Json;
use axum::response::IntoResponse;
use recount::engine::Operation;
use recount::ledger::{Hold, HoldTarget};
use recount::session::Seq;
use serde::Deserialize;
use utoipa::ToSchema;

use super::caller::Caller;
use super::listing::Listing;
use super::outcome::Done;
use super::shapes::{ActorShape, HoldsShape, OnRecordShape};
use crate::access::Role;
use crate::problems::{Code, Problem};
use crate::requests::{Params, Strict};

/// A hold to place.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewHold {
    /// The sessions to keep.
    #[schema(value_type = HoldTargetShape)]
    pub(crate) target: HoldTarget,
    /// The reason.
    pub(crate) reason: String,
}

/// A hold to release.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndOfHold {
    /// The hold.
    #[schema(value_type = u64)]
    pub(crate) hold: Seq,
    /// The reason.
    pub(crate) reason: String,
}

/// A legal hold, for the OpenAPI document.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document reads the fields, no value has them")]
pub(crate) struct HoldShape {
    /// The number of the hold: the seq of its record in the journal's own stream.
    hold: u64,
    /// The sessions that it keeps.
    target: HoldTargetShape,
    /// The reason.
    reason: String,
    /// The person who placed it.
    by: ActorShape,
    /// The time of its record, in microseconds since 1970.
    since_us: i64,
}

/// The target of a hold: an object with `session`, or with `label`, an object with `key` and
/// `value`.
#[derive(ToSchema)]
#[schema(value_type = serde_json::Value)]
#[expect(dead_code, reason = "the document reads the type, no value has it")]
pub(crate) struct HoldTargetShape(serde_json::Value);

/// Lists the legal holds in force on sessions of the caller.
///
/// A hold by label is listed for readers of all sessions.
#[utoipa::path(
    get,
    path = "/v1/holds",
    operation_id = "listHolds",
    tag = "holds",
    responses((status = 200, description = "The holds in force, oldest first", body = HoldsShape)),
)]
pub(crate) async fn list(caller: Caller, params: Params) -> Result<Json<Listing<Hold>>, Problem> {
    params.only(&[])?;
    Ok(Listing::whole(visible(&caller).await?))
}

/// Returns the holds in force that the caller may read.
pub(crate) async fn visible(caller: &Caller) -> Result<Vec<Hold>, Problem> {
    let mut visible = Vec::new();
    for hold in caller.ledger().holds().await? {
        let is_visible = match &hold.target {
            HoldTarget::Session(session) => caller.sees(*session).await?,
            HoldTarget::Label { .. } => reads_everything(caller),
        };
        if is_visible {
            hold.target.session().inspect(|it| caller.shows(*it));
            visible.push(hold);
        }
    }
    Ok(visible)
}

fn reads_everything(caller: &Caller) -> bool {
    caller.principal.role_over_everything() >= Some(Role::Viewer)
}

/// Keeps a session from erasure, or all sessions with a label, until the hold is released.
///
/// Needs the role operator in the session, or for a label in all sessions. `seq` of the response is
/// the number of the hold. The same hold of the same actor for the same reason is recorded once.
#[utoipa::path(
    post,
    path = "/v1/hold",
    operation_id = "hold",
    tag = "holds",
    request_body = NewHold,
    responses((status = 200, description = "The hold is in force", body = OnRecordShape)),
)]
pub(crate) async fn hold(
    caller: Caller,
    Strict(new): Strict<NewHold>,
) -> Result<impl IntoResponse, Problem> {
    place(&caller, new).await
}

/// Places a hold in the name of the caller.
pub(crate) async fn place(caller: &Caller, new: NewHold) -> Result<Done, Problem> {
    let NewHold { target, reason } = new;
    expect_operator(caller, &target).await?;
    let operation = Operation::PlaceHold { target, reason };
    caller.operate(operation).await
}

/// Releases a legal hold. Other holds on the same sessions stay in force.
///
/// Needs the role operator in the held session, or for a label in all sessions.
#[utoipa::path(
    post,
    path = "/v1/unhold",
    operation_id = "unhold",
    tag = "holds",
    request_body = EndOfHold,
    responses((status = 200, description = "The hold is released", body = OnRecordShape)),
)]
pub(crate) async fn unhold(
    caller: Caller,
    Strict(ended): Strict<EndOfHold>,
) -> Result<impl IntoResponse, Problem> {
    release(&caller, ended).await
}

/// Releases a hold in the name of the caller. One that the caller does not see is unknown.
pub(crate) async fn release(caller: &Caller, ended: EndOfHold) -> Result<Done, Problem> {
    let EndOfHold { hold, reason } = ended;
    let unknown = || Problem::new(Code::UnknownHold, "there is no such hold");
    let holds = caller.ledger().holds_on_record().await?;
    let known = holds.into_iter().find(|it| it.id == hold);
    let target = known.ok_or_else(unknown)?.target;
    if target.session().is_none() && !reads_everything(caller) {
        return Err(unknown());
    }
    expect_operator(caller, &target)
        .await
        .map_err(|problem| match problem.code() {
            Code::UnknownSession => unknown(),
            _ => problem,
        })?;
    let operation = Operation::ReleaseHold { hold, reason };
    caller.operate(operation).await
}

/// Checks that the caller is an operator of all sessions that the target may cover.
pub(crate) async fn expect_operator(caller: &Caller, target: &HoldTarget) -> Result<(), Problem> {
    match target {
        HoldTarget::Session(session) => caller.session(*session, Role::Operator).await.map(drop),
        HoldTarget::Label { .. } => caller.expect_everywhere(Role::Operator),
    }
}
