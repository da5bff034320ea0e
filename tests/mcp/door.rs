//! An HTTP middleware before an MCP server that answers chosen calls itself.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use rmcp::transport::StreamableHttpService;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::asking_server::input_required;
use crate::over_http::listening;
use crate::server::Server;

/// The treatment of one request by the middleware.
#[derive(Clone, Debug)]
pub(crate) enum Does {
    /// Answers with a status instead of the server.
    Says(u16),
    /// Answers with a status and this body, which is JSON if it starts with `{`. In it `$ID` is
    /// the id of the request.
    SaysWords(u16, &'static str),
    /// Answers with a status and an error of the protocol for this request: its code and text.
    SaysError(u16, i32, &'static str),
    /// Answers as `Says`, once there is a permit.
    SaysLate(u16, Arc<Semaphore>),
    /// Answers with a status and an authentication challenge.
    Challenges(u16),
    /// Answers with a question.
    Asks,
    /// Answers with another kind of input request of the server.
    Wants(Value),
    /// Answers with an error of the protocol.
    Fails,
    /// Sends the beginning of an answer and closes the connection.
    BreaksOff,
    /// Passes the request to the server once there is a permit.
    Holds(Arc<Semaphore>),
}

/// A middleware that records all requests and passes on those without other orders.
#[derive(Clone, Default)]
pub(crate) struct Door {
    next: Arc<Mutex<BTreeMap<&'static str, VecDeque<Does>>>>,
    came: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Door {
    /// Queues treatments for the next calls of a tool, or the next requests of a method.
    pub(crate) fn next(&self, name: &'static str, does: impl IntoIterator<Item = Does>) {
        let mut next = self.next.lock().unwrap();
        next.entry(name).or_default().extend(does);
    }

    /// The parameters of all requests under a name.
    pub(crate) fn came(&self, name: &str) -> Vec<Value> {
        let came = self.came.lock().unwrap();
        let came = came.iter().filter(|(it, _)| it == name);
        came.map(|(_, params)| params.clone()).collect()
    }

    /// Starts a server behind this middleware, and returns its URL.
    pub(crate) async fn before(&self, server: Server) -> String {
        self.guards(server, StreamableHttpServerConfig::default())
            .await
    }

    /// Starts a server without sessions behind this middleware, and returns its URL.
    pub(crate) async fn before_sessionless(&self, server: Server) -> String {
        let config = StreamableHttpServerConfig::default();
        self.guards(server, config.with_legacy_session_mode(false))
            .await
    }

    async fn guards(&self, server: Server, config: StreamableHttpServerConfig) -> String {
        let service = StreamableHttpService::new(
            move || Ok(server.clone()),
            Arc::new(LocalSessionManager::default()),
            config,
        );
        let door = self.clone();
        let stands = from_fn(move |request: Request, next: Next| {
            let door = door.clone();
            async move { door.passed(request, next).await }
        });
        let url = listening(Router::new().nest_service("/mcp", service).layer(stands)).await;
        format!("{url}/mcp")
    }

    async fn passed(&self, request: Request, next: Next) -> Response {
        let (head, body) = request.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        let told: Value = serde_json::from_slice(&body).unwrap_or_default();
        let does = self.does(&told);
        let answered = |key: &str, value: Value| {
            let answer = json!({"jsonrpc": "2.0", "id": told["id"], key: value});
            ([("content-type", "application/json")], answer.to_string()).into_response()
        };
        match does {
            Some(Does::Says(status)) => (of(status), "s3cret-token is not you").into_response(),
            Some(Does::SaysWords(status, words)) => {
                let kind = match words.starts_with('{') {
                    true => "application/json",
                    false => "text/plain",
                };
                let words = words.replace("$ID", &told["id"].to_string());
                (of(status), [("content-type", kind)], words).into_response()
            }
            Some(Does::SaysError(status, code, words)) => {
                let error = json!({"code": code, "message": words});
                (of(status), answered("error", error)).into_response()
            }
            Some(Does::SaysLate(status, permits)) => {
                permits.acquire().await.unwrap().forget();
                (of(status), "s3cret-token is not you").into_response()
            }
            Some(Does::Challenges(status)) => {
                let challenge = "Bearer error=\"insufficient_scope\", scope=\"all\"";
                (of(status), [("www-authenticate", challenge)], "who?").into_response()
            }
            Some(Does::Asks) => answered("result", input_required("Which table?", "[]")),
            Some(Does::Wants(request)) => {
                let mut asked = input_required("", "[]");
                asked["inputRequests"]["next"] = request;
                answered("result", asked)
            }
            Some(Does::Fails) => answered(
                "error",
                json!({"code": -32603, "message": "kaput by s3cret-token"}),
            ),
            Some(Does::BreaksOff) => {
                let (sends, sent) = futures_channel::mpsc::unbounded();
                sends.unbounded_send(Ok(Bytes::from("{"))).unwrap();
                let broken = io::Error::other("the wire is cut");
                sends.unbounded_send(Err(broken)).unwrap();
                let answer = [("content-type", "application/json")];
                (answer, Body::from_stream(sent)).into_response()
            }
            Some(Does::Holds(permits)) => {
                permits.acquire().await.unwrap().forget();
                next.run(Request::from_parts(head, body.into())).await
            }
            None => next.run(Request::from_parts(head, body.into())).await,
        }
    }

    fn does(&self, told: &Value) -> Option<Does> {
        let params = &told["params"];
        // A request that is no call goes by the name of its method.
        let name = params["name"].as_str().or(told["method"].as_str())?;
        let mut came = self.came.lock().unwrap();
        came.push((name.to_owned(), params.clone()));
        self.next.lock().unwrap().get_mut(name)?.pop_front()
    }
}

fn of(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap()
}
