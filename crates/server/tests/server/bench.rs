//! A bench: a router over an engine, tokens, and requests to it.

use axum::Router;
use axum::body::{Body, BodyDataStream, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use futures_util::StreamExt;
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
    directory: tempfile::TempDir,
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

/// A stream of server-sent events, read message by message.
pub(crate) struct Events {
    pub(crate) status: StatusCode,
    body: BodyDataStream,
    /// The text that was received and not yet read.
    text: String,
}

/// A message of a stream.
#[derive(Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: Option<u64>,
    pub(crate) data: Value,
}

impl Events {
    /// The next part of the text that the server sends. `None` at the end of the stream.
    pub(crate) async fn part(&mut self) -> Option<String> {
        let part = self.body.next().await?.unwrap();
        Some(String::from_utf8(part.to_vec()).unwrap())
    }

    /// True if the connection breaks before the end of the body.
    pub(crate) async fn is_cut_off(&mut self) -> bool {
        while let Some(part) = self.body.next().await {
            if part.is_err() {
                return true;
            }
        }
        false
    }

    /// The next message, past heartbeats. `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some((message, rest)) = self.text.split_once("\n\n") {
                let (message, rest) = (message.to_owned(), rest.to_owned());
                self.text = rest;
                if !message.starts_with(':') {
                    return Some(Event::of(&message));
                }
            }
            let part = self.part().await?;
            self.text.push_str(&part);
        }
    }

    /// The remaining messages.
    pub(crate) async fn rest(mut self) -> Vec<Event> {
        let mut rest = Vec::new();
        while let Some(event) = self.next().await {
            rest.push(event);
        }
        rest
    }
}

impl Event {
    fn of(message: &str) -> Event {
        let field = |name: &str| {
            let mut lines = message.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        Event {
            name: field("event").unwrap().to_owned(),
            id: field("id").map(|it| it.parse().unwrap()),
            data: serde_json::from_str(field("data").unwrap()).unwrap(),
        }
    }
}

impl Bench {
    /// A bench over the engine, with a single user and a store of tokens.
    pub(crate) fn over(engine: Engine) -> Bench {
        Bench::with(engine, |access| access)
    }

    /// Such a bench with more settings of the access.
    pub(crate) fn with(engine: Engine, set: impl FnOnce(Access) -> Access) -> Bench {
        let directory = tempfile::tempdir().unwrap();
        let tokens = TokenStore::open(directory.path().join("tokens.json")).unwrap();
        let access = set(Access::single_user("ada").with_tokens(Arc::new(tokens)));
        let service = Service::new(engine.clone(), access.clone()).body_max(64 << 10);
        let service = service.streams_max(4);
        Bench {
            engine,
            router: service.clone().router(),
            service,
            access,
            directory,
        }
    }

    /// The file of the tokens.
    pub(crate) fn tokens_file(&self) -> std::path::PathBuf {
        self.directory.path().join("tokens.json")
    }

    /// The bench with another service.
    pub(crate) fn over_service(self, service: Service) -> Bench {
        Bench {
            router: service.clone().router(),
            service,
            ..self
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
    async fn respond(
        &self,
        request: axum::http::request::Builder,
        body: Body,
    ) -> axum::response::Response {
        let mut request = request.body(body).unwrap();
        let host = "127.0.0.1:7878".parse().unwrap();
        request.headers_mut().entry("host").or_insert(host);
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// Sends a request, and reads the first part of the response's body.
    pub(crate) async fn first(&self, request: axum::http::request::Builder, body: Body) -> Reply {
        let (parts, body) = self.respond(request, body).await.into_parts();
        let part = body.into_data_stream().next().await.unwrap().unwrap();
        Reply {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(part.to_vec()).unwrap(),
        }
    }

    /// Opens a stream.
    pub(crate) async fn events(&self, request: axum::http::request::Builder) -> Events {
        let (parts, body) = self.respond(request, Body::empty()).await.into_parts();
        Events {
            status: parts.status,
            body: body.into_data_stream(),
            text: String::new(),
        }
    }

    /// Opens a stream with a token.
    pub(crate) async fn stream(&self, token: &str, path: &str) -> Events {
        let request = Request::get(path).header("authorization", format!("Bearer {token}"));
        self.events(request).await
    }

    /// Sends a request, and reads the response whole.
    pub(crate) async fn send(&self, request: axum::http::request::Builder, body: Body) -> Reply {
        let (parts, body) = self.respond(request, body).await.into_parts();
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
