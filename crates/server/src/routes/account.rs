//! The account: who the caller is, and the logout of a browser.

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use recount::session::Actor;
use serde::Serialize;
use utoipa::ToSchema;

use super::shapes::ActorShape;
use crate::access::{Admitted, Grant};
use crate::problems::{Code, Problem};
use crate::requests::Params;
use crate::service::Service;

/// The caller.
#[derive(Serialize, ToSchema)]
pub(crate) struct Me {
    /// The actor that records name.
    #[schema(value_type = ActorShape)]
    actor: Actor,
    /// The grants of the credentials.
    grants: Vec<Grant>,
    /// The token that changes need in the header `X-Recount-CSRF`. Null unless a cookie proves the
    /// caller.
    csrf: Option<String>,
}

/// Returns the caller, as its credentials prove it.
#[utoipa::path(
    get,
    path = "/v1/me",
    operation_id = "getCaller",
    tag = "account",
    responses(
        (status = 200, description = "The caller", body = Me),
    ),
)]
pub(crate) async fn me(admitted: Admitted, params: Params) -> Result<Json<Me>, Problem> {
    params.only(&[])?;
    let principal = admitted.principal;
    Ok(Json(Me {
        actor: principal.actor().clone(),
        grants: principal.grants().to_vec(),
        csrf: admitted.csrf.map(|it| it.expose().to_owned()),
    }))
}

/// Ends the session of the request's cookie.
#[utoipa::path(
    post,
    path = "/v1/logout",
    operation_id = "logOut",
    tag = "account",
    responses((status = 204, description = "Logged out")),
)]
pub(crate) async fn log_out(
    State(service): State<Service>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, _) = request.into_parts();
    let cookie = service.access.log_out(&parts);
    let headers = [(header::SET_COOKIE, header_value(&cookie)?)];
    Ok((StatusCode::NO_CONTENT, headers).into_response())
}

fn header_value(cookie: &str) -> Result<HeaderValue, Problem> {
    HeaderValue::from_str(cookie)
        .map_err(|_| Problem::new(Code::Broken, "the cookie is no header value"))
}
