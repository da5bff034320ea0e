//! The service: tools, an engine over a journal on disk, four routes, and authentication.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{self, FromRequestParts, State};
use axum::http::{StatusCode, header, request::Parts};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use recount::control::Refusal;
use recount::engine::{Engine, Error};
use recount::prelude::{Actor, Agent, Endpoint, LiveHandle, RequestId, SessionId, T, ToolError};
use recount::prelude::{ToolConfirmation, Toolset, Value, json};
use recount::session::{OnSettled, Rejection};
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::Mutex;

/// The addresses, the paths, and the people who may approve.
pub(crate) struct Config {
    pub(crate) address: String,
    pub(crate) journal: PathBuf,
    pub(crate) receipts: PathBuf,
    pub(crate) model: String,
    /// The name of each person, by the secret that they send.
    pub(crate) people: BTreeMap<String, String>,
}

/// The model's tools. Money moves only after a person has agreed.
fn tools(receipts: &Path) -> Toolset {
    let receipts = receipts.to_owned();
    let refund = T::simple("refund", "Refunds an order", move |args| {
        let receipt = write_receipt(&receipts, &args);
        async move { receipt }
    });
    T::confirm(refund, "Refund this order?")
}

fn write_receipt(receipts: &Path, args: &Value) -> Result<Value, ToolError> {
    let file = OpenOptions::new().create(true).append(true).open(receipts);
    file.and_then(|mut file| file.write_all(format!("refunded {args}\n").as_bytes()))
        .map_err(|error| ToolError::ExecutionFailed(error.to_string()))?;
    Ok(json!({"refunded": true}))
}

/// Opens the engine. Pending requests are in the journal, so it does not matter how the previous
/// process ended.
async fn open(config: &Config) -> Result<Engine, Error> {
    let support = Agent::new()
        .model("gemini-3.8-live")
        .instruction("You are the support desk of a shop.")
        .tools(tools(&config.receipts))
        .connect_to(Endpoint::url(&config.model))
        // A person may decide when no client is connected any more. The model receives the outcome
        // all the same.
        .on_settled(OnSettled::Connect);
    Engine::builder(&config.journal)
        // In a rolling deploy, the old process may still hold the journal.
        .wait(Duration::from_secs(30))
        .agent("support", support)
        .open()
        .await
}

/// The shared state of the routes.
struct Service {
    engine: Engine,
    people: BTreeMap<String, String>,
    /// The conversations of this process. Dropping a handle ends its connection.
    conversations: Mutex<BTreeMap<SessionId, LiveHandle>>,
}

/// Serves until `stop`, and shuts down in good order.
pub(crate) async fn serve(
    config: Config,
    ready: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Box<dyn std::error::Error>> {
    // In a rolling deploy, the old process holds the address until it stops, and the journal a
    // little longer.
    let engine = open(&config).await?;
    let served = listen(&engine, config, ready, stop).await;
    // Needed even if the address could not be bound, because approved calls are running by now.
    engine.shutdown(Duration::from_secs(20)).await?;
    served
}

async fn listen(
    engine: &Engine,
    config: Config,
    ready: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Box<dyn std::error::Error>> {
    let door = TcpListener::bind(&config.address).await?;
    ready(door.local_addr()?);
    let service = Arc::new(Service {
        engine: engine.clone(),
        people: config.people,
        conversations: Mutex::default(),
    });
    let routes = Router::new()
        .route("/conversations", post(begin))
        .route("/pending", get(pending))
        .route("/approve/{id}", post(approve))
        .route("/deny/{id}", post(deny))
        .with_state(service);
    axum::serve(door, routes)
        .with_graceful_shutdown(stop)
        .await?;
    Ok(())
}

/// Sends the words of a customer to the model.
async fn begin(
    State(service): State<Arc<Service>>,
    Json(said): Json<Said>,
) -> Result<Json<Value>, Refused> {
    let live = service.engine.session("support").connect().await?;
    live.send_text(said.text).await?;
    let session = live.session_id();
    service.conversations.lock().await.insert(session, live);
    Ok(Json(json!({"session": session})))
}

#[derive(Deserialize)]
struct Said {
    text: String,
}

/// The authenticated person. Nothing in a path or a body says who sent a request.
struct Person(Actor);

impl FromRequestParts<Arc<Service>> for Person {
    type Rejection = StatusCode;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &Arc<Service>,
    ) -> Result<Person, StatusCode> {
        let shown = parts.headers.get(header::AUTHORIZATION);
        let shown = shown.and_then(|it| it.to_str().ok()?.strip_prefix("Bearer "));
        let name = shown.and_then(|secret| service.people.get(secret));
        let name = name.ok_or(StatusCode::UNAUTHORIZED)?;
        Ok(Person(Actor::embedder(name)))
    }
}

/// Lists the pending requests, of this process and of all before it.
async fn pending(
    State(service): State<Arc<Service>>,
    _: Person,
) -> Result<impl IntoResponse, Refused> {
    Ok(Json(service.engine.pending().await?))
}

async fn approve(
    State(service): State<Arc<Service>>,
    person: Person,
    extract::Path(id): extract::Path<RequestId>,
) -> Result<Json<Value>, Refused> {
    answer(&service.engine, id, ToolConfirmation::confirmed(), person).await
}

async fn deny(
    State(service): State<Arc<Service>>,
    person: Person,
    extract::Path(id): extract::Path<RequestId>,
    reason: String,
) -> Result<Json<Value>, Refused> {
    let no = ToolConfirmation::denied(reason);
    answer(&service.engine, id, no, person).await
}

/// Records an answer. The first one counts. Once it is acknowledged, the tool and the model
/// continue by themselves.
async fn answer(
    engine: &Engine,
    id: RequestId,
    answer: ToolConfirmation,
    Person(by): Person,
) -> Result<Json<Value>, Refused> {
    match engine.answer(id, answer, by).await {
        Ok(seq) => Ok(Json(json!({"on_record": seq}))),
        Err(Error::Refused(rejection)) => Err(stands_against(engine, id, &rejection).await?),
        Err(error) => Err(error.into()),
    }
}

/// A refusal, as a status and in words.
struct Refused(StatusCode, Value);

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        let (status, code) = match &error {
            Error::Refused(rejection) => (StatusCode::CONFLICT, rejection.code()),
            Error::UnknownRequest { .. } => (StatusCode::NOT_FOUND, "unknown_request"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "failed"),
        };
        Refused(status, json!({"code": code, "text": error.to_string()}))
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.0, Json(self.1)).into_response()
    }
}

/// Describes the answer that counted instead: its time, its author, and the request to answer now.
async fn stands_against(
    engine: &Engine,
    request: RequestId,
    rejection: &Rejection,
) -> Result<Refused, Error> {
    let ledger = engine.ledger();
    let known = ledger.request(request).await?;
    let known = known.ok_or(Error::UnknownRequest { request })?;
    let refusal = Refusal::of(ledger, known.session, rejection).await;
    Ok(Refused(StatusCode::CONFLICT, json!(refusal)))
}
