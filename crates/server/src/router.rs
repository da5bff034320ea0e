//! The router: which route passes which checks.

use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderValue, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use axum::{Extension, Router};
use recount::Engine;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{Access, authenticate, check_site};
use crate::metrics::count;
use crate::on_record::put_on_record;
use crate::openapi::{Outline, complete};
use crate::pages;
use crate::problems::{Code, Problem};
use crate::requests::{BodyTime, finish_body, run_once};
use crate::routes::programs::{claimed, claims, making, opening};
use crate::routes::reports::{audit, checking, checkpoints, export, metrics, reads};
use crate::routes::{
    account, answers, calls, events, health, holds, leaves, openapi, pauses, pending, records,
    sessions, sinks,
};
use crate::service::Service;

/// Returns the router of the HTTP API over the engine. A service mounts it under any prefix.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use axum::Router;
/// use recount::Engine;
/// use recount_server::{Access, TokenStore, router};
///
/// let engine = Engine::builder("./journal").open().await?;
/// let access = Access::none().with_tokens(TokenStore::open("tokens.json")?);
/// let app: Router = Router::new().nest("/recount", router(engine, access));
/// # let _ = app;
/// # Ok(()) }
/// ```
pub fn router(engine: Engine, access: Access) -> Router {
    Service::new(engine, access).router()
}

impl Service {
    /// Returns the router of this service.
    pub fn router(self) -> Router {
        let access = self.access.clone();
        let site = || from_fn_with_state(access.clone(), check_site);
        // The last layer runs first.
        let guarded = guarded()
            .route_layer(from_fn_with_state(self.answers.clone(), run_once))
            .merge(unrepeated())
            .route_layer(from_fn_with_state(self.clone(), put_on_record))
            .route_layer(from_fn_with_state(access.clone(), authenticate))
            .route_layer(site());
        let frame = from_fn_with_state(self.clone(), pages::check);
        let login = OpenApiRouter::new().routes(routes!(pages::login::log_in));
        let open = open().route_layer(site()).merge(login.route_layer(frame));
        let routes = OpenApiRouter::with_openapi(Outline::openapi())
            .merge(guarded)
            .merge(open)
            .merge(health());
        let (router, mut document) = routes.split_for_parts();
        complete(&mut document);
        // The document consists of texts, so it can always be written.
        let _ = self.document.set(document.to_json().unwrap_or_default());
        router
            .merge(pages::routes(&self))
            .fallback(pages::not_found)
            .method_not_allowed_fallback(method_not_allowed)
            .layer(DefaultBodyLimit::max(self.body_max))
            .layer(Extension(BodyTime(self.body_time)))
            .layer(from_fn(with_headers))
            .layer(from_fn_with_state(self.counters.clone(), count))
            .layer(from_fn_with_state(BodyTime(self.body_time), finish_body))
            .with_state(self)
    }
}

/// The routes that need a principal.
fn guarded() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(account::me))
        .routes(routes!(account::log_out))
        .routes(routes!(sessions::list))
        .routes(routes!(sessions::get))
        .routes(routes!(sessions::state))
        .routes(routes!(sessions::close))
        .routes(routes!(records::list))
        .routes(routes!(events::records))
        .routes(routes!(calls::list))
        .routes(routes!(calls::respond))
        .routes(routes!(calls::reconcile))
        .routes(routes!(calls::cancel))
        .routes(routes!(pending::list))
        .routes(routes!(events::pending))
        .routes(routes!(answers::answer))
        .routes(routes!(answers::several))
        .routes(routes!(answers::deny_all))
        .routes(routes!(leaves::list))
        .routes(routes!(leaves::revoke))
        .routes(routes!(pauses::list))
        .routes(routes!(pauses::pause))
        .routes(routes!(pauses::unpause))
        .routes(routes!(holds::list))
        .routes(routes!(holds::hold))
        .routes(routes!(holds::unhold))
        .routes(routes!(checkpoints::status))
        .routes(routes!(sinks::list))
        .routes(routes!(sinks::retry))
        .routes(routes!(sinks::retry_every))
        .routes(routes!(sinks::discard))
        .merge(programs())
        .routes(routes!(audit::decisions))
        .routes(routes!(export::get))
        .routes(routes!(metrics::get))
        .routes(routes!(reads::list))
}

/// The routes of programs that drive sessions and run calls.
fn programs() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(opening::open))
        .routes(routes!(making::get))
        .routes(routes!(claims::claim))
        .routes(routes!(claimed::renew))
        .routes(routes!(claimed::yield_one))
        .routes(routes!(claimed::report))
        .routes(routes!(claimed::finish))
        .routes(routes!(claimed::fail))
        .routes(routes!(claimed::release))
}

/// The routes that need a principal, whose answers are not kept for repetitions.
///
/// The key of a call is on record, so a repetition waits for the call and gets its outcome. Checks
/// are streams, and change nothing.
fn unrepeated() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(making::make))
        .routes(routes!(checking::replay))
        .routes(routes!(checking::verify))
}

/// The routes that need no principal.
fn open() -> OpenApiRouter<Service> {
    OpenApiRouter::new().routes(routes!(openapi::document))
}

/// The routes of supervisors, which name the process by its address.
fn health() -> OpenApiRouter<Service> {
    OpenApiRouter::new()
        .routes(routes!(health::live))
        .routes(routes!(health::ready))
}

/// Adds the headers of every response: nothing is cached, sniffed or referred to.
async fn with_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

async fn method_not_allowed() -> Problem {
    Problem::new(Code::MethodNotAllowed, "the route has no such method")
}
