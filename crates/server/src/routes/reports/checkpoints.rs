//! The status of the checkpoints of the journal, and of their anchors.

use axum::Json;
use recount_evidence::EvidenceStatus;
use utoipa::ToSchema;

use crate::access::Role;
use crate::problems::Problem;
use crate::requests::Params;
use crate::routes::caller::Caller;

/// The status of the checkpoints of the journal.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document reads the fields, no value has them")]
pub(crate) struct CheckpointsShape {
    /// The name of the journal in its checkpoints. Empty if the service makes none.
    origin: String,
    /// The last checkpoint. Null before the first.
    last: Option<LastCheckpointShape>,
    /// The number of records that no checkpoint covers yet.
    records_since: u64,
    /// The time since which a checkpoint lacks a signature, in microseconds since 1970. Null if
    /// every signer signs.
    failing_since_us: Option<i64>,
    /// The last error of a signer. Null if every signer signs.
    error: Option<String>,
    /// The reason why the folder `tree` of the journal is not written. Null if all is well.
    tree_error: Option<String>,
    /// The anchors.
    anchors: Vec<AnchorShape>,
}

/// A signed checkpoint.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document reads the fields, no value has them")]
pub(crate) struct LastCheckpointShape {
    /// The number of records that it is about.
    size: u64,
    /// The time at which it was made, in microseconds since 1970.
    at_us: i64,
    /// The names of the keys that signed it.
    signers: Vec<String>,
}

/// A place that gets a copy of each checkpoint.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the document reads the fields, no value has them")]
pub(crate) struct AnchorShape {
    /// The name.
    name: String,
    /// `directory`, `command` or `timestamp`.
    kind: String,
    /// The number of records of the last checkpoint that it took since the start.
    size: u64,
    /// The number of checkpoints that it has not taken.
    behind: u64,
    /// The time since which no attempt has succeeded, in microseconds since 1970. Null if all is
    /// well.
    failing_since_us: Option<i64>,
    /// The last error. Null if all is well.
    error: Option<String>,
}

/// Returns the status of the checkpoints. Needs the role operator in all sessions.
#[utoipa::path(
    get,
    path = "/v1/checkpoints",
    operation_id = "checkpoints",
    tag = "journal",
    responses((status = 200, description = "The status", body = CheckpointsShape)),
)]
pub(crate) async fn status(
    caller: Caller,
    params: Params,
) -> Result<Json<EvidenceStatus>, Problem> {
    params.only(&[])?;
    caller.expect_everywhere(Role::Operator)?;
    Ok(Json(of(&caller).unwrap_or_default()))
}

/// Returns the status. `None` without checkpoints, and for a caller who may not read it.
pub(crate) fn of(caller: &Caller) -> Option<EvidenceStatus> {
    let may_read = caller.principal.role_over_everything() >= Some(Role::Operator);
    let board = caller.service.evidence.as_ref().filter(|_| may_read)?;
    Some(board.read())
}
