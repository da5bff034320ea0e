//! The routes of the pages of sessions.

use axum::Router;
use axum::routing::{get, post};

use super::{acts, checks, list, record, session};
use crate::service::Service;

/// The routes, which need a principal.
pub(crate) fn routes() -> Router<Service> {
    Router::new()
        .route("/sessions", get(list::show))
        .route("/sessions/{id}", get(session::show))
        .route("/sessions/{id}/leaves/{seq}/revoke", post(acts::revoke))
        .route("/sessions/{id}/pause", post(acts::pause))
        .route("/sessions/{id}/records/{seq}", get(record::show))
        .route("/sessions/{id}/replay", post(checks::replay))
        .route("/sessions/{id}/unpause", post(acts::unpause))
        .route("/sessions/{id}/verify", post(checks::verify))
}
