//! The handshake of a client: who it is, what it asks for, and the answer.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::extract::Request as HttpRequest;
use axum::response::Response;
use futures_util::StreamExt;
use http::header::{self, HeaderValue};
use http::{HeaderMap, StatusCode, Uri};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use crate::entrance::{ClientAddress, Refused};
use crate::outages::{KeyOf, Outages};
use crate::own_values::OwnValues;
use crate::relay::{Client, Halves, Relay, Request, Shared};
use crate::settings::Credentials;
use crate::target::{self, Target};
use crate::upstream::{self, Refusal, Unreached};

/// The gateway as its handshakes and relays see it.
pub(crate) struct Inner {
    pub(crate) shared: Arc<Shared>,
    /// The clients that may still come.
    pub(crate) places: Arc<Semaphore>,
    pub(crate) relays: TaskTracker,
    pub(crate) is_draining: AtomicBool,
    pub(crate) outages: Outages,
    /// Closes sessions whose client does not come back.
    pub(crate) _closing: AbortOnDropHandle<()>,
    /// Records calls that passed unrecorded.
    pub(crate) _recording: AbortOnDropHandle<()>,
}

impl Inner {
    pub(crate) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Relaxed)
    }
}

/// Answers a request. A client that may connect gets its relay.
pub(crate) async fn answer(inner: Arc<Inner>, mut request: HttpRequest) -> Response {
    let Some(key) = websocket_key(request.headers()) else {
        let told = "this is a gateway for live clients: point a client's base URL here";
        return problem(StatusCode::UPGRADE_REQUIRED, "not-a-websocket", told);
    };
    if inner.is_draining() {
        return unavailable("the gateway is restarting");
    }
    // A client that is not refused gets its relay, and 1001 if it stays too long.
    let _handshake = inner.relays.token();
    let Ok(place) = inner.places.clone().try_acquire_owned() else {
        return unavailable("the gateway has as many clients as it takes");
    };
    let peer = request.extensions().get::<ClientAddress>().map(|it| it.0);
    let (target, asked) = match asked(&inner, request.headers(), request.uri(), peer).await {
        Ok(asked) => asked,
        Err(refusal) => return *refusal,
    };
    let settings = &inner.shared.settings;
    let url = target.url(settings, request.uri().query());
    let headers = target::headers(request.headers(), settings);
    let vendor = upstream::connect(&url, headers).await;
    let key_of = match settings.credentials {
        Credentials::PassThrough => KeyOf::Client,
        Credentials::Tokens { .. } => KeyOf::Gateway,
    };
    inner.outages.note(&asked.endpoint, key_of, &vendor);
    let vendor = match vendor {
        Ok(vendor) => vendor,
        Err(unreached) => return refused_by_vendor(&asked.endpoint, key_of, unreached),
    };
    let upgrading = hyper::upgrade::on(&mut request);
    let relay = Box::new(Relay::new(inner.shared.clone(), asked));
    let vendor = vendor.split();
    inner.relays.spawn(async move {
        // Freed with the end of the relay.
        let _place = place;
        match Box::pin(upgraded(upgrading)).await {
            Ok(client) => relay.run(client, vendor).await,
            Err(error) => tracing::debug!(%error, "a client left during its handshake"),
        }
    });
    switching(&key)
}

/// Reads what the client asks for, and checks that it may.
async fn asked(
    inner: &Inner,
    headers: &HeaderMap,
    uri: &Uri,
    peer: Option<IpAddr>,
) -> Result<(Target, Request), Box<Response>> {
    let Some(target) = Target::of(uri.path()) else {
        let told = "expected the path of a live conversation of Gemini";
        return Err(Box::new(problem(
            StatusCode::NOT_FOUND,
            "unknown-path",
            told,
        )));
    };
    let credential = target::credential(headers, uri);
    let admitted = inner
        .shared
        .entrance
        .admit(credential.as_deref(), peer)
        .await;
    let admitted = admitted.map_err(|it| Box::new(refused(&it)))?;
    let own = OwnValues::read(headers, uri);
    let own = own.map_err(|told| {
        let status = StatusCode::BAD_REQUEST;
        Box::new(problem(status, "invalid-argument", &told.to_string()))
    })?;
    let agent = own.agent;
    let agent = agent.unwrap_or_else(|| inner.shared.settings.agent.clone());
    let labels = own.labels;
    if !admitted.may_use(&agent, &labels, None) {
        let what = "this agent with these labels".to_owned();
        return Err(Box::new(refused(&Refused::Forbidden { what })));
    }
    if inner.shared.engine.named_in_policies(&agent).is_err() {
        let told = "expected the name of an agent of the gateway in x-recount-agent";
        return Err(Box::new(problem(
            StatusCode::NOT_FOUND,
            "unknown-agent",
            told,
        )));
    }
    let request = Request {
        admitted,
        agent,
        platform: target.platform,
        endpoint: target.endpoint(&inner.shared.settings.upstream),
        session: own.session,
        labels,
        external_id: own.external_id,
        on_behalf_of: own.on_behalf_of,
    };
    Ok((target, request))
}

/// Returns the key of a handshake. `None` for another request.
fn websocket_key(headers: &HeaderMap) -> Option<HeaderValue> {
    let has = |name: header::HeaderName, word: &str| {
        let values = headers.get_all(name).into_iter();
        let mut words = values.filter_map(|it| it.to_str().ok());
        words.any(|it| it.split(',').any(|it| it.trim().eq_ignore_ascii_case(word)))
    };
    let asks = has(header::CONNECTION, "upgrade") && has(header::UPGRADE, "websocket");
    let is_known = has(header::SEC_WEBSOCKET_VERSION, "13");
    let key = headers.get(header::SEC_WEBSOCKET_KEY)?;
    (asks && is_known).then(|| key.clone())
}

async fn upgraded(upgrading: OnUpgrade) -> Result<Halves<Client>, hyper::Error> {
    let stream = TokioIo::new(upgrading.await?);
    let limits = Some(upstream::limits());
    let client = WebSocketStream::from_raw_socket(stream, Role::Server, limits);
    Ok(client.await.split())
}

fn switching(key: &HeaderValue) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    if let Ok(accept) = HeaderValue::from_str(&derive_accept_key(key.as_bytes())) {
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    response
}

fn refused(refusal: &Refused) -> Response {
    let (status, code) = match refusal {
        Refused::Unauthenticated => (StatusCode::UNAUTHORIZED, "unauthenticated"),
        Refused::Forbidden { .. } => (StatusCode::FORBIDDEN, "forbidden"),
        Refused::TooMany { .. } => (StatusCode::TOO_MANY_REQUESTS, "too-many-failures"),
        Refused::Unchecked { .. } => return unavailable(&refusal.to_string()),
    };
    let mut response = problem(status, code, &refusal.to_string());
    if let Refused::TooMany { retry_after } = refusal {
        let seconds = HeaderValue::from(retry_after.as_secs().max(1));
        response.headers_mut().insert(header::RETRY_AFTER, seconds);
    }
    response
}

fn refused_by_vendor(endpoint: &str, key_of: KeyOf, unreached: Unreached) -> Response {
    let (status, told) = match unreached {
        Unreached::Refused(refusal) => return passed_on(endpoint, key_of, *refusal),
        Unreached::TimedOut => {
            let told = format!("{endpoint} did not complete the handshake");
            (StatusCode::GATEWAY_TIMEOUT, told)
        }
        Unreached::Failed(_) => {
            let told = format!("{endpoint} cannot be reached");
            (StatusCode::BAD_GATEWAY, told)
        }
    };
    problem(status, "vendor", &told)
}

/// The vendor's refusal as the client gets it. The words are for the owner of the key alone: they
/// may name a project of the operator.
fn passed_on(endpoint: &str, key_of: KeyOf, refusal: Refusal) -> Response {
    let status = refusal.status;
    let told = format!("{endpoint} refused the handshake with {status}");
    let passes = status.is_client_error() || status.is_server_error();
    let status = if passes {
        status
    } else {
        StatusCode::BAD_GATEWAY
    };
    let mut response = problem(status, "vendor", &told);
    if let Some(time) = refusal.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, time);
    }
    if let (Some((kind, body)), KeyOf::Client) = (refusal.body, key_of) {
        *response.body_mut() = Body::from(body);
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    response
}

fn unavailable(told: &str) -> Response {
    let mut response = problem(StatusCode::SERVICE_UNAVAILABLE, "unavailable", told);
    let soon = HeaderValue::from_static("1");
    response.headers_mut().insert(header::RETRY_AFTER, soon);
    response
}

fn problem(status: StatusCode, code: &str, told: &str) -> Response {
    let body = json!({"error": {"code": status.as_u16(), "status": code, "message": told}});
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
