//! The routes of the pages.

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

use super::{
    assets, audit, card, denying, figures, frame, history, inbox, live, login, operations, reads,
    sessions,
};
use crate::on_record::put_on_record;
use crate::service::Service;

/// The routes of the pages. They need no entry in the OpenAPI document, which programs read.
pub(crate) fn routes(service: &Service) -> Router<Service> {
    guarded()
        .route_layer(from_fn_with_state(service.clone(), put_on_record))
        .route_layer(from_fn_with_state(service.clone(), frame::guard))
        .merge(open().route_layer(from_fn_with_state(service.clone(), frame::check)))
}

/// The pages that need a principal.
fn guarded() -> Router<Service> {
    Router::new()
        .route("/figures", get(figures::show))
        .route("/", get(inbox::root))
        .route("/inbox", get(inbox::show))
        .route("/history", get(history::show))
        .route("/sessions/{id}/deny-all", post(denying::deny_all))
        .route("/sessions/{id}/calls/{call}", get(card::show))
        .route("/sessions/{id}/calls/{call}/answer", post(card::answer))
        .route("/sessions/{id}/calls/{call}/respond", post(card::respond))
        .route(
            "/sessions/{id}/calls/{call}/reconcile",
            post(card::reconcile),
        )
        .route(
            "/sessions/{id}/calls/{call}/edit",
            get(card::form).post(card::change),
        )
        .route(
            "/sessions/{id}/calls/{call}/leaves/{leave}/revoke",
            post(card::revoke),
        )
        .route("/live", get(live::changes))
        .route("/logout", post(login::log_out))
        .route("/operations", get(operations::show))
        .route(
            "/operations/discard-letter",
            post(operations::discard_letter),
        )
        .route("/operations/pause", post(operations::pause))
        .route("/operations/retry-letter", post(operations::retry_letter))
        .route("/operations/retry-letters", post(operations::retry_letters))
        .route("/operations/revoke", post(operations::revoke))
        .route("/operations/unhold", post(operations::unhold))
        .route("/operations/unpause", post(operations::unpause))
        .route("/reads", get(reads::show))
        .merge(audit::routes())
        .merge(sessions::routes())
        .method_not_allowed_fallback(frame::no_such_method)
}

/// The pages that need no principal.
fn open() -> Router<Service> {
    Router::new()
        .route("/login/token", post(login::with_token))
        .route("/assets/{name}", get(assets::get))
}
