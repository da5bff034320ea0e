//! The OpenAPI document of the service.

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use crate::problems::{Code, Problem};
use crate::service::Service;

/// Returns the OpenAPI 3.1 document of this service.
#[utoipa::path(
    get,
    path = "/v1/openapi.json",
    operation_id = "getDocument",
    tag = "health",
    security(()),
    responses((status = 200, description = "The document", body = Object)),
)]
pub(crate) async fn document(State(service): State<Service>) -> Result<impl IntoResponse, Problem> {
    let document = service.document.get().cloned();
    let document =
        document.ok_or_else(|| Problem::new(Code::Broken, "the routes are not known"))?;
    Ok(([(header::CONTENT_TYPE, "application/json")], document))
}
