//! Tasks: calls that the server accepts and answers later by an id.

use std::future::pending;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use recount::mcp::McpServer;
use recount::prelude::*;
use recount::session::{Event, Observation, Outcome, ResponseShape, Seq, ToolPaused};
use tokio::runtime::Runtime;

use crate::child_process::{ChildProcess, obey, order, say};
use crate::over_http;
use crate::rounds::until;
use crate::server::Server;
use crate::survives::model;

const THIS_TEST: &str = "tasks::a_task_whose_caller_was_killed_goes_on_by_its_id";

#[test]
fn a_task_whose_caller_was_killed_goes_on_by_its_id() {
    if let Some(order) = order() {
        let home = Path::new(order["home"].as_str().unwrap());
        let url = order["url"].as_str().unwrap();
        return obey(async {
            match order["second"] == true {
                false => first_life(home, url).await,
                true => second_life(home, url).await,
            }
        });
    }
    let place = tempfile::tempdir().unwrap();
    let home = place.path();
    let witness = place.path().join("called");
    let server = Server::new(json!({"witness": witness}));
    let runtime = Runtime::new().unwrap();
    let url = runtime.block_on(over_http::open_to_all(server.clone()));
    let mut order = json!({"home": home.to_str(), "url": url});
    let mut first = ChildProcess::start(THIS_TEST, &order);
    first.until("paused");
    first.kill();

    server.finish();
    order["second"] = json!(true);
    let mut second = ChildProcess::start(THIS_TEST, &order);
    assert_eq!(
        second.until("supplied"),
        r#"{"structuredContent":{"printed":3}}"#
    );
    second.end();
    let noted = std::fs::read_to_string(witness).unwrap();
    assert_eq!(noted, "called job\n");
}

async fn open(home: &Path, url: &str) -> Engine {
    let agent = Agent::new()
        .model("m")
        .tools(T::mcp(McpServer::http(url)).await.unwrap())
        .connect_to(model("job"));
    let engine = Engine::builder(home.join("journal")).agent("desk", agent);
    engine.open().await.unwrap()
}

async fn first_life(home: &Path, url: &str) {
    let engine = open(home, url).await;
    let live = engine.session("desk").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let paused = updates.wait_for(|event| event.kind() == "tool_paused");
    paused.await.unwrap();
    say("paused");
    pending::<()>().await;
}

async fn second_life(home: &Path, url: &str) {
    let engine = open(home, url).await;
    let session = engine.sessions().await.unwrap()[0].id;
    let supplied = supplied(&engine, session).await;
    say(format!("supplied {supplied}"));
    engine.shutdown(Duration::ZERO).await.unwrap();
}

/// Waits until the call has ended, and returns its supplied result.
pub(crate) async fn supplied(engine: &Engine, session: SessionId) -> String {
    let folded = async || engine.ledger().load(session).await.unwrap().session;
    until("the call ends", async || !folded().await.settled.is_empty()).await;
    let ended = folded().await.settled.values().next().unwrap().outcome;
    assert_eq!(ended, Outcome::Supplied);
    let facts = engine.ledger().facts(session, Seq(1), 1_000).await.unwrap();
    let supplied = facts.iter().find_map(|it| match &it.event {
        Event::Observed(Observation::ResponseSupplied(it)) => Some(it.response.as_str().to_owned()),
        _ => None,
    });
    supplied.unwrap()
}

#[tokio::test]
async fn a_task_pauses_its_call_until_it_has_ended() {
    let server = Server::new(json!({}));
    let url = over_http::open_to_all(server.clone()).await;
    let agent = Agent::new()
        .model("m")
        .tools(T::mcp(McpServer::http(url)).await.unwrap())
        .connect_to(model("job"));
    let engine = Engine::in_memory()
        .agent("desk", agent)
        .open()
        .await
        .unwrap();
    let live = engine.session("desk").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let paused = updates.wait_for(|event| event.kind() == "tool_paused");
    let paused = paused.await.unwrap();
    let Event::Observed(Observation::ToolPaused(paused)) = paused.fact.event.clone() else {
        panic!("{paused:?}");
    };
    let told = paused.interim.unwrap().to_value();
    assert_eq!(told["status"], "working");
    assert!(
        told["task"].is_string() && told["message"] == "in the queue",
        "{told}"
    );
    server.finish();
    assert_eq!(
        supplied(&engine, live.session_id()).await,
        r#"{"structuredContent":{"printed":3}}"#
    );
}

#[tokio::test]
async fn task_forgotten_by_server_has_unknown_outcome() {
    let place = tempfile::tempdir().unwrap();
    let home = place.path();
    let server = Server::new(json!({}));
    let url = over_http::open_to_all(server).await;
    let engine = open(home, &url).await;
    let live = engine.session("desk").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let paused = updates.wait_for(|event| event.kind() == "tool_paused");
    paused.await.unwrap();
    let session = live.session_id();
    drop((updates, live));
    engine.shutdown(Duration::ZERO).await.unwrap();
    drop(engine);

    // A server that was restarted and forgot its tasks.
    let url = over_http::open_to_all(Server::new(json!({}))).await;
    let engine = open(home, &url).await;
    let supplied = supplied(&engine, session).await;
    assert!(
        supplied.contains(r#""kind":"unknown_outcome""#)
            && supplied.contains("the server does not tell of its task"),
        "{supplied}"
    );
    engine.shutdown(Duration::ZERO).await.unwrap();
}

/// An engine with a session whose call has paused for a task.
async fn paused(server: &Server, agent: Agent) -> (Engine, LiveHandle, Seq) {
    let (engine, live, paused) = paused_as(server, agent).await;
    (engine, live, paused.call)
}

/// Like `paused`, with the record of the pause.
async fn paused_as(server: &Server, agent: Agent) -> (Engine, LiveHandle, ToolPaused) {
    let url = over_http::open_to_all(server.clone()).await;
    let known = McpServer::http(url).bearer("s3cret-token");
    let agent = agent
        .model("m")
        .tools(T::mcp(known).await.unwrap())
        .connect_to(model("job"));
    let engine = Engine::in_memory().agent("desk", agent);
    let engine = engine.open().await.unwrap();
    let live = engine.session("desk").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let paused = updates.wait_for(|event| event.kind() == "tool_paused");
    let paused = paused.await.unwrap().fact.event.clone();
    let Event::Observed(Observation::ToolPaused(paused)) = paused else {
        panic!("{paused:?}");
    };
    (engine, live, paused)
}

#[tokio::test]
async fn task_is_found_again_despite_values_hidden_from_model() {
    let server = Server::new(json!({}));
    let is_id = |text: &str| text.len() == 36 && text.matches('-').count() == 4;
    let agent = Agent::new().redact(move |text| is_id(text).then(|| "[id]".to_owned()));
    let (engine, live, paused) = paused_as(&server, agent).await;
    assert_eq!(paused.interim.unwrap().to_value()["task"], "[id]");
    server.finish();
    assert_eq!(
        supplied(&engine, live.session_id()).await,
        r#"{"structuredContent":{"printed":3}}"#
    );
}

#[tokio::test]
async fn recovered_task_is_reported_in_response_shape_of_agent() {
    let server = Server::new(json!({}));
    let agent = Agent::new().response_shape(ResponseShape::Envelope);
    let (engine, live, _) = paused(&server, agent).await;
    server.finish();
    assert_eq!(
        supplied(&engine, live.session_id()).await,
        r#"{"output":{"structuredContent":{"printed":3}},"scheduling":"WHEN_IDLE"}"#
    );
}

#[tokio::test]
async fn a_task_whose_call_is_taken_back_is_cancelled_at_the_server() {
    let server = Server::new(json!({}));
    let (_engine, live, call) = paused(&server, Agent::new()).await;
    let by = Actor::embedder("ada");
    live.cancel(call, Some("too late".into()), by)
        .await
        .unwrap();
    until("the server is told", async || {
        server.called_off.load(Ordering::SeqCst) == 1
    })
    .await;
}

#[tokio::test]
async fn a_task_whose_call_has_its_result_is_asked_after_no_more() {
    let server = Server::new(json!({}));
    let (engine, live, call) = paused(&server, Agent::new()).await;
    let ticket = Ticket {
        session: live.session_id(),
        call,
        tool: "job".to_owned(),
    };
    let response = FunctionResponse::new("job", json!({"by": "hand"}));
    let by = Actor::embedder("ada");
    engine.respond(&ticket, response, by).await.unwrap();
    // A request that was already sent arrives while the client connects again.
    let url = over_http::open_to_all(server.clone()).await;
    let mut tools = ToolDispatcher::new();
    tools
        .register(T::mcp(McpServer::http(url)).await.unwrap())
        .unwrap();
    let asked = server.asked_after.load(Ordering::SeqCst);
    for _ in 0..200 {
        tools.call_function("echo", json!({})).await.unwrap();
    }
    assert_eq!(server.asked_after.load(Ordering::SeqCst), asked);
    assert_eq!(server.called_off.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn server_without_task_status_is_asked_again() {
    let server = Server::new(json!({"hangs_once": true}));
    server.finish();
    let url = over_http::open_to_all(server).await;
    let limited = McpServer::http(url).timeout(Duration::from_secs(2));
    let agent = Agent::new()
        .model("m")
        .tools(T::mcp(limited).await.unwrap())
        .connect_to(model("job"));
    let engine = Engine::in_memory().agent("desk", agent);
    let engine = engine.open().await.unwrap();
    let live = engine.session("desk").connect().await.unwrap();
    live.send_text("go").await.unwrap();
    assert_eq!(
        supplied(&engine, live.session_id()).await,
        r#"{"structuredContent":{"printed":3}}"#
    );
}

#[tokio::test]
async fn without_an_engine_the_end_of_a_task_is_waited_for() {
    let server = Server::new(json!({}));
    server.finish();
    let url = over_http::open_to_all(server).await;
    let mut tools = ToolDispatcher::new();
    tools
        .register(T::mcp(McpServer::http(url)).await.unwrap())
        .unwrap();
    let ended = tools.call_function("job", json!({})).await;
    assert_eq!(ended, Ok(json!({"structuredContent": {"printed": 3}})));
}

#[tokio::test]
async fn task_status_shows_no_server_secret() {
    let server = Server::new(json!({"task": {"message": "s3cret-token waits"}}));
    let (_engine, _live, paused) = paused_as(&server, Agent::new()).await;
    assert_eq!(
        paused.interim.unwrap().to_value()["message"],
        "[hidden] waits"
    );
}

#[tokio::test]
async fn task_not_recoverable_from_record_ends_its_call_at_once() {
    let server = Server::new(json!({"task": {"id": "job-of-s3cret-token"}}));
    let url = over_http::open_to_all(server).await;
    let server = McpServer::http(url).bearer("s3cret-token");
    let agent = Agent::new()
        .model("m")
        .tools(T::mcp(server).await.unwrap())
        .connect_to(model("job"));
    let engine = Engine::in_memory().agent("desk", agent);
    let engine = engine.open().await.unwrap();
    let live = engine.session("desk").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    // The call pauses, or it has ended.
    let went_on = updates.wait_for(|it| ["tool_paused", "tool_returned"].contains(&it.kind()));
    assert_eq!(went_on.await.unwrap().fact.event.kind(), "tool_returned");
    let session = live.session_id();
    let folded = async || engine.ledger().load(session).await.unwrap().session;
    until("the call ends", async || !folded().await.settled.is_empty()).await;
    let facts = engine.ledger().facts(session, Seq(1), 1_000).await.unwrap();
    let told: String = facts.iter().map(|it| it.event.body().unwrap()).collect();
    assert!(told.contains(r#""kind":"unknown_outcome""#), "{told}");
    assert!(told.contains("whose id holds a secret"), "{told}");
    assert!(!told.contains("s3cret"), "{told}");
}
