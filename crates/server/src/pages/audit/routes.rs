//! The routes of the audit's pages.

use axum::Router;
use axum::routing::{get, post};

use super::{checks, show};
use crate::service::Service;

/// The routes, which need a principal.
pub(crate) fn routes() -> Router<Service> {
    Router::new()
        .route("/audit", get(show::show))
        .route("/audit/replay", post(checks::replay))
        .route("/audit/verify", post(checks::verify))
}
