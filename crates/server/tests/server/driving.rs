//! Sessions that programs drive: opening, calls with keys, and waiting for outcomes.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use recount::prelude::{Agent, Engine, T, json as value};
use recount_server::{Grant, Role};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::bench::{Bench, Reply, posting};
use crate::clock::HandClock;
use crate::world::{World, agents, engine};

/// Opens a session of `support` for `acme`. Returns its path.
async fn opened(bench: &Bench, token: &str) -> String {
    let body = json!({"agent": "support", "labels": {"tenant": "acme"}});
    let reply = bench.post(token, "/v1/sessions", &body).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    let id = reply.json()["session"].as_str().unwrap().to_owned();
    assert_eq!(reply.headers["location"], format!("sessions/{id}"));
    format!("/v1/sessions/{id}")
}

/// Makes a call with a key, and waits for so many seconds.
async fn call(
    bench: &Bench,
    token: &str,
    session: &str,
    key: &str,
    wait: u32,
    body: Value,
) -> Reply {
    let request = posting(token, &format!("{session}/calls"))
        .header("idempotency-key", key)
        .header("prefer", format!("wait={wait}"));
    bench.send(request, Body::from(body.to_string())).await
}

/// The path of the call of a reply.
fn path_of(session: &str, reply: &Reply) -> String {
    format!("{session}/calls/{}", reply.json()["call"])
}

#[tokio::test]
async fn opened_session_has_what_the_client_gave() {
    let bench = Bench::over(engine().await);
    let client = bench.token("shop", &[Grant::everywhere(Role::Client)]);
    let body = json!({"agent": "support", "external_id": "order-7", "on_behalf_of": "grace",
        "labels": {"tenant": "acme"}});
    let reply = bench.post(&client, "/v1/sessions", &body).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    let id = reply.json()["session"].as_str().unwrap().to_owned();
    let shown = bench
        .get(&bench.admin(), &format!("/v1/sessions/{id}"))
        .await;
    for key in ["session", "agent", "external_id", "on_behalf_of", "labels"] {
        assert_eq!(shown.json()[key], reply.json()[key], "{key}");
    }
    assert_eq!(shown.json()["external_id"], "order-7");
}

#[tokio::test]
async fn repeated_opening_is_one_session() {
    let bench = Bench::over(engine().await);
    let token = bench.admin();
    let open = async || {
        let request = posting(&token, "/v1/sessions").header("idempotency-key", "k1");
        let body = json!({"agent": "support"}).to_string();
        bench.send(request, Body::from(body)).await
    };
    let (first, again) = (open().await, open().await);
    assert_eq!((first.status.as_u16(), &first.text), (201, &again.text));
    assert_eq!(first.headers["location"], again.headers["location"]);
    assert_eq!(bench.engine.sessions().await.unwrap().len(), 1);
}

#[tokio::test]
async fn client_opens_only_within_its_grant() {
    let world = World::new().await;
    let client = world.tenant(Role::Client);
    let open = async |agent: &str, tenant: &str| {
        let body = json!({"agent": agent, "labels": {"tenant": tenant}});
        let reply = world.bench.post(&client, "/v1/sessions", &body).await;
        (reply.status.as_u16(), reply.text.replace(agent, "AGENT"))
    };
    assert_eq!(open("support", "acme").await.0, 201);
    assert_eq!(open("support", "globex").await.0, 403);
    let foreign = open("billing", "acme").await;
    assert_eq!(foreign.0, 404);
    assert_eq!(foreign, open("nothing", "acme").await);
    let everywhere = world.bench.token("all", &[Grant::everywhere(Role::Client)]);
    let body = json!({"agent": "nothing"});
    let unknown = world.bench.post(&everywhere, "/v1/sessions", &body).await;
    assert_eq!(unknown.text.replace("nothing", "AGENT"), foreign.1);
}

#[tokio::test]
async fn call_that_ends_in_time_has_its_outcome() {
    let bench = Bench::over(engine().await);
    let token = bench.admin();
    let session = opened(&bench, &token).await;
    let body = r#"{"tool":"look","args":{"note":"x"}}"#;
    let request = posting(&token, &format!("{session}/calls"))
        .header("idempotency-key", "k1")
        .header("prefer", "wait=60");
    let reply = bench.send(request, Body::from(body)).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let state = reply.json();
    assert_eq!(
        (&state["tool"], &state["phase"]),
        (&json!("look"), &Value::Null)
    );
    assert_eq!(state["ended"]["outcome"], "returned");
    assert_eq!(state["repeated"], false);
    let shown = bench.get(&token, &path_of(&session, &reply)).await;
    assert_eq!(shown.json()["ended"], state["ended"]);
    let refused = call(
        &bench,
        &token,
        &session,
        "k2",
        60,
        json!({"tool": "nothing"}),
    )
    .await;
    assert_eq!(refused.status, 200, "{}", refused.text);
    let ended = &refused.json()["ended"];
    assert_eq!(
        (&ended["outcome"], &ended["error"]["kind"]),
        (&json!("refused"), &json!("not_found"))
    );
}

#[tokio::test]
async fn call_that_waits_for_a_person_is_accepted() {
    let bench = Bench::over(engine().await);
    let (token, client) = (
        bench.admin(),
        bench.token("shop", &[Grant::everywhere(Role::Client)]),
    );
    let session = opened(&bench, &client).await;
    let body = json!({"tool": "refund", "args": {"note": "x"}});
    let reply = call(&bench, &client, &session, "k1", 0, body).await;
    assert_eq!(reply.status, 202, "{}", reply.text);
    let path = path_of(&session, &reply);
    let location = reply.headers["location"].to_str().unwrap();
    assert_eq!(format!("{session}/{location}"), path);
    let state = bench.get(&client, &path).await.json();
    assert_eq!(state["phase"]["name"], "awaiting_confirmation");
    assert_eq!(
        (&state["phase"]["waits_for"], &state["ended"]),
        (&json!("person"), &Value::Null)
    );
    let request = state["request"].as_str().unwrap();
    let answer = format!("/v1/requests/{request}/answer");
    let waiting = format!("{path}?wait=60");
    let yes = json!({"confirmed": true});
    let (ended, answered) = tokio::join!(
        bench.get(&client, &waiting),
        bench.post(&token, &answer, &yes)
    );
    assert_eq!(answered.status, 200, "{}", answered.text);
    assert_eq!(ended.json()["ended"]["response"], json!({"refunded": true}));
}

#[tokio::test]
async fn same_key_is_the_same_call() {
    let bench = Bench::over(engine().await);
    let token = bench.admin();
    let session = opened(&bench, &token).await;
    let body = || json!({"tool": "look", "args": {"note": "x", "b": 1}});
    let first = call(&bench, &token, &session, "k1", 60, body()).await;
    let other_order = json!({"tool": "look", "args": {"b": 1, "note": "x"}});
    let again = call(&bench, &token, &session, "k1", 60, other_order).await;
    assert_eq!(
        (again.status.as_u16(), again.json()["repeated"].clone()),
        (200, json!(true))
    );
    assert_eq!(again.json()["call"], first.json()["call"]);
    assert_eq!(again.json()["ended"], first.json()["ended"]);
    let other = call(&bench, &token, &session, "k1", 60, json!({"tool": "look"})).await;
    assert_eq!(
        (other.status.as_u16(), other.code()),
        (409, "key-reused".to_owned())
    );
    assert_eq!(other.json()["at"], first.json()["call"]);
    let calls = bench.get(&token, &format!("{session}/calls")).await.json();
    assert_eq!(calls["items"].as_array().unwrap().len(), 1);
    // The key is needed, and it is one of the session.
    let path = format!("{session}/calls");
    let without = bench.post(&token, &path, &body()).await;
    assert_eq!(
        (without.status.as_u16(), without.code()),
        (422, "unfit-idempotency-key".to_owned())
    );
    let elsewhere = opened(&bench, &token).await;
    let elsewhere = call(&bench, &token, &elsewhere, "k1", 60, body()).await;
    assert_eq!(elsewhere.json()["repeated"], false);
}

#[tokio::test]
async fn repeated_call_waits_for_the_first_one() {
    let bench = Bench::over(engine().await);
    let token = bench.admin();
    let session = opened(&bench, &token).await;
    let body = || json!({"tool": "refund"});
    let first = call(&bench, &token, &session, "k1", 0, body()).await.json();
    let request = first["request"].as_str().unwrap();
    let (answer, yes) = (
        format!("/v1/requests/{request}/answer"),
        json!({"confirmed": true}),
    );
    let (again, answered) = tokio::join!(
        call(&bench, &token, &session, "k1", 60, body()),
        bench.post(&token, &answer, &yes)
    );
    assert_eq!(answered.status, 200, "{}", answered.text);
    assert_eq!(
        (&again.json()["call"], again.status.as_u16()),
        (&first["call"], 200)
    );
    assert_eq!(again.json()["ended"]["response"], json!({"refunded": true}));
}

#[tokio::test(start_paused = true)]
async fn wait_ends_after_its_time() {
    let engine = agents(Engine::in_memory()).clock(HandClock::new());
    let bench = Bench::over(engine.open().await.unwrap());
    let token = bench.admin();
    let session = opened(&bench, &token).await;
    let begun = tokio::time::Instant::now();
    let reply = call(&bench, &token, &session, "k1", 7, json!({"tool": "refund"})).await;
    assert_eq!((reply.status.as_u16(), begun.elapsed().as_secs()), (202, 7));
    let path = format!("{}?wait=5", path_of(&session, &reply));
    let state = bench.get(&token, &path).await;
    assert_eq!(state.json()["phase"]["name"], "awaiting_confirmation");
    assert_eq!(begun.elapsed().as_secs(), 12);
}

#[tokio::test]
async fn wait_ends_when_the_service_drains() {
    let bench = Bench::over(engine().await);
    let token = bench.admin();
    let session = opened(&bench, &token).await;
    let refund = json!({"tool": "refund"});
    let (made, ()) = tokio::join!(call(&bench, &token, &session, "k1", 60, refund), async {
        bench.service.drain();
    });
    assert_eq!(made.status, 202, "{}", made.text);
    let bench = Bench::over(engine().await);
    let token = bench.admin();
    let session = opened(&bench, &token).await;
    let reply = call(&bench, &token, &session, "k1", 0, json!({"tool": "refund"})).await;
    let path = format!("{}?wait=60", path_of(&session, &reply));
    let (state, ()) = tokio::join!(bench.get(&token, &path), async { bench.service.drain() });
    assert_eq!(state.json()["ended"], Value::Null, "{}", state.text);
    let refused = call(&bench, &token, &session, "k2", 0, json!({"tool": "look"})).await;
    assert_eq!(refused.code(), "draining");
}

#[tokio::test]
async fn running_call_survives_the_loss_of_its_handle() {
    let gate = Arc::new(Notify::new());
    let opens = gate.clone();
    let dig = T::simple("dig", "Digs", move |_| {
        let opens = opens.clone();
        async move {
            opens.notified().await;
            Ok(value!({"dug": true}))
        }
    });
    let agent = Agent::new().model("none").tools(dig);
    let engine = Engine::in_memory()
        .agent("support", agent)
        .open()
        .await
        .unwrap();
    let bench = Bench::over(engine);
    let token = bench.admin();
    let session = opened(&bench, &token).await;
    let reply = call(&bench, &token, &session, "k1", 0, json!({"tool": "dig"})).await;
    assert_eq!(reply.status, 202, "{}", reply.text);
    // The service holds the handles of fewer sessions.
    for _ in 0..300 {
        opened(&bench, &token).await;
    }
    gate.notify_one();
    let path = format!("{}?wait=60", path_of(&session, &reply));
    let state = bench.get(&token, &path).await.json();
    assert_eq!(state["ended"]["outcome"], "returned", "{state}");
    let again = call(&bench, &token, &session, "k1", 60, json!({"tool": "dig"})).await;
    assert_eq!(again.json()["repeated"], true);
}

#[tokio::test]
async fn client_sees_the_calls_of_its_tools_alone() {
    let world = World::new().await;
    let bench = &world.bench;
    let grant = Grant::everywhere(Role::Client).of_agent("support");
    let packer = bench.token(
        "packer",
        &[grant.with_label("tenant", "acme").of_tool("pack")],
    );
    let session = format!("/v1/sessions/{}", world.own.session);
    let shown = bench
        .get(&packer, &format!("{session}/calls/{}", world.own.claimed))
        .await;
    assert_eq!(shown.json()["tool"], "pack", "{}", shown.text);
    let other = bench
        .get(&packer, &format!("{session}/calls/{}", world.own.paused))
        .await;
    assert_eq!(
        (other.status.as_u16(), other.code()),
        (403, "role-missing".to_owned())
    );
    for path in ["/calls", "/records", "/state"] {
        let refused = bench.get(&packer, &format!("{session}{path}")).await;
        assert_eq!(refused.code(), "role-missing", "{path}");
    }
    // It finds the sessions that it may drive, and no others.
    let listed = bench.get(&packer, "/v1/sessions").await.json();
    let ids: Vec<_> = listed["items"].as_array().unwrap().iter().collect();
    assert_eq!(ids.len(), 1, "{listed}");
    assert_eq!(ids[0]["session"], world.own.session.to_string());
    let own = bench.get(&packer, &session).await;
    assert_eq!(own.json()["session"], world.own.session.to_string());
    let foreign = format!("/v1/sessions/{}", world.other_tenant.session);
    assert_eq!(bench.get(&packer, &foreign).await.code(), "unknown-session");
    let made = call(bench, &packer, &session, "k1", 0, json!({"tool": "look"})).await;
    assert_eq!(made.code(), "role-missing");
    let unknown = bench.get(&packer, &format!("{session}/calls/999")).await;
    assert_eq!(unknown.code(), "unknown-call");
}

#[tokio::test]
async fn closed_session_takes_no_call_and_keeps_outcomes() {
    let bench = Bench::over(engine().await);
    let token = bench.admin();
    let session = opened(&bench, &token).await;
    let first = call(&bench, &token, &session, "k1", 60, json!({"tool": "look"})).await;
    let close = json!({"reason": "done"});
    let closed = bench
        .post(&token, &format!("{session}/close"), &close)
        .await;
    assert_eq!(closed.status, 200, "{}", closed.text);
    let refused = call(&bench, &token, &session, "k2", 60, json!({"tool": "look"})).await;
    assert_eq!(
        (refused.status.as_u16(), refused.code()),
        (409, "session-closed".to_owned())
    );
    let again = call(&bench, &token, &session, "k1", 60, json!({"tool": "look"})).await;
    assert_eq!(
        again.json()["ended"],
        first.json()["ended"],
        "{}",
        again.text
    );
}

#[tokio::test]
async fn unfit_preference_makes_no_call() {
    let bench = Bench::over(engine().await);
    let token = bench.admin();
    let session = opened(&bench, &token).await;
    let request = Request::post(format!("{session}/calls"))
        .header("authorization", format!("Bearer {token}"))
        .header("content-type", "application/json")
        .header("idempotency-key", "k1")
        .header("prefer", "wait=soon");
    let body = json!({"tool": "look"}).to_string();
    let refused = bench.send(request, Body::from(body)).await;
    assert_eq!(refused.code(), "bad-request");
    let calls = bench.get(&token, &format!("{session}/calls")).await.json();
    assert_eq!(calls["items"], json!([]));
}
