//! Standing leaves: their listing and their end.

use axum::Json;
use axum::response::IntoResponse;
use recount::engine::Operation;
use recount::ledger::LeaveInForce;
use serde::Deserialize;
use utoipa::ToSchema;

use super::caller::Caller;
use super::listing::Listing;
use super::outcome::Done;
use super::shapes::{LeavesShape, OnRecordShape};
use crate::access::Role;
use crate::problems::Problem;
use crate::requests::{InPath, Params, StrictOrEmpty, seq, session};

/// The end of a standing leave.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Revocation {
    /// The reason.
    #[serde(default)]
    reason: Option<String>,
}

/// Lists the standing leaves in force.
///
/// A standing leave is an approval that also allows later calls of its tool.
#[utoipa::path(
    get,
    path = "/v1/leaves",
    operation_id = "listLeaves",
    tag = "approvals",
    responses((status = 200, description = "The leaves, oldest session first", body = LeavesShape)),
)]
pub(crate) async fn list(
    caller: Caller,
    params: Params,
) -> Result<Json<Listing<LeaveInForce>>, Problem> {
    params.only(&[])?;
    Ok(Listing::whole(visible(&caller).await?))
}

/// Returns the standing leaves in force of the sessions that the caller may read.
pub(crate) async fn visible(caller: &Caller) -> Result<Vec<LeaveInForce>, Problem> {
    let mut leaves = caller.service.engine.standing_leaves().await?;
    leaves.retain(|it| caller.principal.role_in(&it.agent, &it.labels) >= Some(Role::Viewer));
    leaves.iter().for_each(|it| caller.shows(it.session));
    Ok(leaves)
}

/// Revokes a standing leave. Needs the role approver.
///
/// `seq` is that of the answer that gave the leave. The people who could give it may revoke it.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/leaves/{seq}/revoke",
    operation_id = "revokeLeave",
    tag = "approvals",
    params(
        ("id" = String, Path, description = "The id of the session"),
        ("seq" = u64, Path, description = "The seq of the answer that gave the leave"),
    ),
    request_body = Option<Revocation>,
    responses(
        (status = 200, description = "The leave is revoked", body = OnRecordShape),
    ),
)]
pub(crate) async fn revoke(
    caller: Caller,
    InPath((id, leave)): InPath<(String, String)>,
    StrictOrEmpty(Revocation { reason }): StrictOrEmpty<Revocation>,
) -> Result<impl IntoResponse, Problem> {
    end(&caller, (&id, &leave), reason).await
}

/// Revokes a standing leave in the name of the caller. `place` has the session and the seq.
pub(crate) async fn end(
    caller: &Caller,
    place: (&str, &str),
    reason: Option<String>,
) -> Result<Done, Problem> {
    let session = session(place.0)?;
    caller.session(session, Role::Approver).await?;
    let operation = Operation::RevokeLeave {
        session,
        leave: seq(place.1)?,
        reason,
    };
    caller.operate(operation).await
}
