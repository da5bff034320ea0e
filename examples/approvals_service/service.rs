//! Tools, an engine over a journal on disk, four routes, and who is asking.

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

/// Where everything is, and who may approve.
pub(crate) struct Config {
    pub(crate) address: String,
    pub(crate) journal: PathBuf,
    pub(crate) receipts: PathBuf,
    pub(crate) model: String,
    /// The secret that each person shows, and their name.
    pub(crate) people: BTreeMap<String, String>,
}

/// What the model may do. Money moves only when a person has agreed.
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

/// The engine. What waits for a person is in the journal, so it does not matter how the process
/// before has ended.
async fn open(config: &Config) -> Result<Engine, Error> {
    let support = Agent::new()
        .model("gemini-3.8-live")
        .instruction("You are the support desk of a shop.")
        .tools(tools(&config.receipts))
        .connect_to(Endpoint::url(&config.model))
        // A person may decide when nobody is connected any more: the model is told all the same.
        .on_settled(OnSettled::Connect);
    Engine::builder(&config.journal)
        // In a rolling deploy the old process still lets go of the journal.
        .wait(Duration::from_secs(30))
        .agent("support", support)
        .open()
        .await
}

/// What the routes have in common.
struct Service {
    engine: Engine,
    people: BTreeMap<String, String>,
    /// The conversations of this process. Who drops a handle hangs up.
    conversations: Mutex<BTreeMap<SessionId, LiveHandle>>,
}

/// Serves until `stop`, and ends in good order.
pub(crate) async fn serve(
    config: Config,
    ready: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Box<dyn std::error::Error>> {
    // In a rolling deploy the old process has the address until it stops, and the journal until
    // just after.
    let engine = open(&config).await?;
    let served = listen(&engine, config, ready, stop).await;
    // Also where the door could not be opened: what was approved runs by now.
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

/// A customer says something.
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

/// Whoever asks, as your service knows them. Nothing in a path or a body says who somebody is.
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

/// What waits for a person, from this process and from all before it.
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

/// The first answer on record counts. It is acknowledged then; the tool and the model go on by
/// themselves.
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

/// Why something was not done, as a status and in words.
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

/// What stands against an answer: since when, by whose word, and which request to answer instead.
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
