//! A bench: a router over an engine, tokens, and requests to it.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use recount::Engine;
use recount::session::Timestamp;
use recount_server::{Access, Grant, NewToken, Role, Service, TokenStore};
use serde_json::Value;
use std::sync::Arc;
use tower::ServiceExt;

/// A service with a store of tokens.
pub(crate) struct Bench {
    pub(crate) engine: Engine,
    pub(crate) service: Service,
    pub(crate) access: Access,
    router: Router,
    _directory: tempfile::TempDir,
}

/// A response, read whole.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    /// The body as JSON; null if it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// The code of a problem.
    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Bench {
    /// A bench over the engine, with a single user and a store of tokens.
    pub(crate) fn over(engine: Engine) -> Bench {
        let directory = tempfile::tempdir().unwrap();
        let tokens = TokenStore::open(directory.path().join("tokens.json")).unwrap();
        let access = Access::single_user("ada").with_tokens(Arc::new(tokens));
        let service = Service::new(engine.clone(), access.clone()).body_max(64 << 10);
        Bench {
            engine,
            router: service.clone().router(),
            service,
            access,
            _directory: directory,
        }
    }

    /// A new token with these grants.
    pub(crate) fn token(&self, name: &str, grants: &[Grant]) -> String {
        let new = grants
            .iter()
            .cloned()
            .fold(NewToken::new(name), NewToken::grant);
        let store = self.access.tokens().unwrap();
        let (token, _) = store.create(new, Timestamp(1)).unwrap();
        token.expose().to_owned()
    }

    /// A new token of an admin of everything.
    pub(crate) fn admin(&self) -> String {
        self.token("root", &[Grant::everywhere(Role::Admin)])
    }

    /// Sends a request to this machine's own name, unless it names a host.
    pub(crate) async fn send(&self, request: axum::http::request::Builder, body: Body) -> Reply {
        let mut request = request.body(body).unwrap();
        let host = "127.0.0.1:7878".parse().unwrap();
        request.headers_mut().entry("host").or_insert(host);
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        Reply {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    pub(crate) async fn get(&self, token: &str, path: &str) -> Reply {
        let request = Request::get(path).header("authorization", format!("Bearer {token}"));
        self.send(request, Body::empty()).await
    }

    pub(crate) async fn post(&self, token: &str, path: &str, body: &Value) -> Reply {
        let request = posting(token, path);
        self.send(request, Body::from(body.to_string())).await
    }
}

/// A POST of JSON with a token.
pub(crate) fn posting(token: &str, path: &str) -> axum::http::request::Builder {
    Request::post(path)
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
}
