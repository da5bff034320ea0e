//! Tools, an engine over a journal on disk, three routes, and who is asking.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{self, FromRequestParts, State};
use axum::http::{StatusCode, header, request::Parts};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use recount::engine::{Engine, Error};
use recount::prelude::{Actor, Agent, Endpoint, LiveHandle, RequestId, SessionId, T, ToolError};
use recount::prelude::{ToolConfirmation, Toolset, Value, json};
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::Mutex;

/// Where everything is, and who may approve.
pub(crate) struct Config {
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

/// The engine. What waits for a person is in the journal, so it does not matter how the process before has ended.
async fn open(config: &Config) -> Result<Engine, Error> {
    let support = Agent::new()
        .model("gemini-live-2.5-flash")
        .instruction("You are the support desk of a shop.")
        .tools(tools(&config.receipts))
        .connect_to(Endpoint::url(&config.model));
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
    door: TcpListener,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Box<dyn std::error::Error>> {
    let engine = open(&config).await?;
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
    engine.shutdown(Duration::from_secs(20)).await?;
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
    answer(&service, id, ToolConfirmation::confirmed(), person).await
}

async fn deny(
    State(service): State<Arc<Service>>,
    person: Person,
    extract::Path(id): extract::Path<RequestId>,
    reason: String,
) -> Result<Json<Value>, Refused> {
    answer(&service, id, ToolConfirmation::denied(reason), person).await
}

/// The first answer on record counts; whoever comes later is told whose that was.
async fn answer(
    service: &Service,
    id: RequestId,
    answer: ToolConfirmation,
    Person(by): Person,
) -> Result<Json<Value>, Refused> {
    let pending = service.engine.pending().await?;
    let seq = service.engine.answer(id, answer, by).await?;
    // The tool runs without a connection. The model hears of it when somebody takes the conversation up again; where that
    // cannot be done now, the answer counts all the same.
    if let Some(request) = pending.iter().find(|it| it.id == id) {
        let mut conversations = service.conversations.lock().await;
        if let Entry::Vacant(taken_up) = conversations.entry(request.session)
            && let Ok(live) = service.engine.resume(request.session).await
        {
            taken_up.insert(live);
        }
    }
    Ok(Json(json!({"on_record": seq})))
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

/// Why something was not done, in words and as a status.
struct Refused(Error);

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused(error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let (status, code) = match &self.0 {
            Error::Refused(rejection) => (StatusCode::CONFLICT, rejection.code()),
            Error::UnknownRequest { .. } => (StatusCode::NOT_FOUND, "unknown_request"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "failed"),
        };
        let told = json!({"code": code, "message": self.0.to_string()});
        (status, Json(told)).into_response()
    }
}
