//! A web service with three routes: talk to the model, list pending requests, approve one.

use std::net::SocketAddr;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use recount::prelude::{Actor, Agent, Endpoint, Engine, RequestId, T, ToolConfirmation, Value};
use recount::prelude::{json, tool};
use recount::simulator::{Script, Simulator};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const MODEL: &str = concat!(
    r#"{"on": {"text": "refund"}, "send": [{"call": [{"id": "c1", "name": "refund", "#,
    r#""args": {"order": "1001"}}]}, {"say": "A colleague has to agree."}]}"#,
);

/// Gives the money for an order back.
#[tool]
async fn refund(order: String) -> Value {
    json!({ "refunded": order })
}

fn broken(error: recount::engine::Error) -> (StatusCode, String) {
    (StatusCode::CONFLICT, error.to_string())
}

type Answer<T> = Result<T, (StatusCode, String)>;

async fn say(State(engine): State<Engine>, words: String) -> Answer<String> {
    let live = engine.session("support").connect().await.map_err(broken)?;
    let mut updates = live.subscribe();
    live.send_text(words).await.map_err(broken)?;
    Ok(updates.turn().await.unwrap_or_default())
}

async fn pending(State(engine): State<Engine>) -> Answer<Json<Vec<(RequestId, String)>>> {
    let pending = engine.pending().await.map_err(broken)?.into_iter();
    let shown = pending.map(|it| (it.id, format!("{} {}", it.tool, it.args)));
    Ok(Json(shown.collect()))
}

/// A real service takes the approver from its login.
async fn approve(State(engine): State<Engine>, Path(id): Path<RequestId>) -> Answer<String> {
    let (yes, ada) = (ToolConfirmation::confirmed(), Actor::embedder("ada"));
    engine.answer(id, yes, ada).await.map_err(broken)?;
    Ok("on record".to_owned())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = Simulator::start(Script::parse(MODEL)?);
    let model = model.listen("127.0.0.1:0").await?;
    let journal = tempfile::tempdir()?;
    let support = Agent::new()
        .model("gemini-3.8-live")
        .tools(T::confirm(refund(), "Refund this order?"))
        .connect_to(Endpoint::url(model.url()));
    let engine = Engine::builder(journal.path())
        .agent("support", support)
        .open()
        .await?;
    let mut updates = engine.subscribe();
    let routes = Router::new()
        .route("/say", post(say))
        .route("/pending", get(pending))
        .route("/approve/{id}", post(approve))
        .with_state(engine);
    let door = TcpListener::bind("127.0.0.1:0").await?;
    let address = door.local_addr()?;
    tokio::spawn(async move { axum::serve(door, routes).await });

    let said = ask(address, "POST /say", "Please refund order 1001.").await?;
    println!("POST /say      {said}");
    let waiting = ask(address, "GET /pending", "").await?;
    let [(id, what)]: [(String, String); 1] = serde_json::from_str(&waiting)?;
    println!("GET /pending   {what}");
    let answer = ask(address, &format!("POST /approve/{id}"), "").await?;
    println!("POST /approve  {answer}");
    let returned = |event: &_| recount::session::Event::kind(event) == "tool_returned";
    updates.wait_for(returned).await;
    println!("the refund is done");
    Ok(())
}

/// Sends a request, as `curl` would.
async fn ask(door: SocketAddr, what: &str, words: &str) -> std::io::Result<String> {
    let mut door = TcpStream::connect(door).await?;
    let head = "HTTP/1.1\r\nhost: here\r\nconnection: close";
    let length = words.len();
    let asked = format!("{what} {head}\r\ncontent-length: {length}\r\n\r\n{words}");
    door.write_all(asked.as_bytes()).await?;
    let mut answer = String::new();
    door.read_to_string(&mut answer).await?;
    Ok(answer.rsplit("\r\n\r\n").next().unwrap_or("").to_owned())
}
