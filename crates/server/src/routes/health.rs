//! Health: live, and ready with the reason if it is not.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::problems::{Code, Problem};
use crate::service::Service;

/// The health of the service.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    /// Always `ok`: other states are problems.
    status: &'static str,
}

const OK: Json<Health> = Json(Health { status: "ok" });

/// Reports that the process answers.
#[utoipa::path(
    get,
    path = "/healthz",
    operation_id = "isLive",
    tag = "health",
    security(()),
    responses((status = 200, description = "The process answers", body = Health)),
)]
pub(crate) async fn live() -> Json<Health> {
    OK
}

/// Reports if the service can take requests that change something.
#[utoipa::path(
    get,
    path = "/readyz",
    operation_id = "isReady",
    tag = "health",
    security(()),
    responses(
        (status = 200, description = "The service is ready", body = Health),
        (status = 503, description = "Not ready, with the reason", body = Problem,
            content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn ready(State(service): State<Service>) -> Result<Json<Health>, Problem> {
    if service.is_draining() {
        return Err(Problem::new(Code::Draining, "the service is shutting down"));
    }
    match service.check_writable().await {
        Ok(()) => Ok(OK),
        Err(error) => Err(not_ready(error.into())),
    }
}

/// Every reason of an unready service has the status 503.
fn not_ready(problem: Problem) -> Problem {
    match problem.code() {
        Code::Draining | Code::NoSpace | Code::NotWritable => problem,
        _ => problem.with_code(Code::NotWritable),
    }
}
