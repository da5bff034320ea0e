//! Counters of the service since its start.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;

/// The route of requests that no route has.
const UNMATCHED: &str = "unmatched";

/// The method, the route and the status of requests.
pub(crate) type RequestKind = (&'static str, String, u16);

/// The counters of a service.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    requests: Mutex<BTreeMap<RequestKind, u64>>,
    answers: AtomicU64,
}

impl Counters {
    /// Counts a recorded answer to a confirmation request.
    pub(crate) fn answered(&self) {
        self.answers.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of recorded answers.
    pub(crate) fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// The numbers of requests.
    pub(crate) fn requests(&self) -> BTreeMap<RequestKind, u64> {
        self.table().clone()
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<RequestKind, u64>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts each request by its method, its route and its status.
pub(crate) async fn count(
    State(counters): State<Arc<Counters>>,
    request: Request,
    next: Next,
) -> Response {
    let method = method(request.method());
    // The path of a request has ids, its route has none, so the number of routes is bounded.
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or(UNMATCHED, MatchedPath::as_str).to_owned();
    let response = next.run(request).await;
    let kind = (method, route, response.status().as_u16());
    *counters.table().entry(kind).or_default() += 1;
    response
}

/// The name of a method. Unknown ones have one name.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
