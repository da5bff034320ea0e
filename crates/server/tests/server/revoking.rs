//! Responses that last: they end when the credentials of their reader are revoked.

use axum::body::Body;
use axum::http::Request;
use recount::prelude::{Actor, Engine, json};
use recount::session::Timestamp;
use recount_server::{Grant, NewToken, Role};

use crate::bench::{Bench, Event, Events, posting};
use crate::clock::HandClock;
use crate::world::{World, agents};

/// A token and its id, with a role in all sessions.
struct Revocable {
    token: String,
    id: String,
}

impl Revocable {
    fn new(bench: &Bench, role: Role) -> Revocable {
        let new = NewToken::new("ada").grant(Grant::everywhere(role));
        let store = bench.access.tokens().unwrap();
        let (token, info) = store.create(new, Timestamp(1)).unwrap();
        Revocable {
            token: token.expose().to_owned(),
            id: info.id,
        }
    }

    fn revoke(&self, bench: &Bench) {
        let store = bench.access.tokens().unwrap();
        store.revoke(&self.id, Timestamp(2)).unwrap();
    }
}

/// Answers the open request of the tenant's session, which changes its records and what waits.
async fn answer(world: &World) {
    let path = format!("/v1/requests/{}/answer", world.own.request);
    let approver = world.tenant(Role::Approver);
    let yes = json!({"confirmed": true});
    let answered = world.bench.post(&approver, &path, &yes).await;
    assert_eq!(answered.status, 200, "{}", answered.text);
}

/// Expects that the stream tells nothing but its end.
async fn expect_over(stream: Events) {
    let rest = stream.rest().await;
    let names: Vec<(&str, &str)> = rest
        .iter()
        .map(|Event { name, data, .. }| (name.as_str(), data["code"].as_str().unwrap_or("")))
        .collect();
    assert_eq!(names, [("problem", "unauthenticated")], "{rest:?}");
}

#[tokio::test]
async fn revoked_token_ends_its_streams() {
    let world = World::new().await;
    let (bench, session) = (&world.bench, world.own.session);
    let mut streams = Vec::new();
    for path in [
        &format!("/v1/sessions/{session}/events"),
        "/v1/pending/events",
    ] {
        let viewer = Revocable::new(bench, Role::Viewer);
        let mut stream = bench.stream(&viewer.token, path).await;
        assert_eq!(stream.status, 200);
        stream.next().await.unwrap();
        viewer.revoke(bench);
        streams.push(stream);
    }
    // A check streams its report, too.
    let viewer = Revocable::new(bench, Role::Viewer);
    let verify = Request::post(format!("/v1/sessions/{session}/verify"))
        .header("authorization", format!("Bearer {}", viewer.token));
    let verify = bench.events(verify).await;
    assert_eq!(verify.status, 200);
    viewer.revoke(bench);
    streams.push(verify);
    answer(&world).await;
    for stream in streams {
        expect_over(stream).await;
    }
}

#[tokio::test(start_paused = true)]
async fn silent_stream_ends_after_the_expiry_of_its_token() {
    let clock = HandClock::new();
    let engine = agents(Engine::in_memory()).clock(clock.clone());
    let engine = engine.open().await.unwrap();
    let bench = Bench::with(engine, |access| access.with_clock(clock.clone()));
    let expires = Timestamp(recount::engine::Clock::now(&*clock).0 + 1_000_000);
    let new = NewToken::new("ada").grant(Grant::everywhere(Role::Viewer));
    let store = bench.access.tokens().unwrap();
    let (token, _) = store.create(new.expires_at(expires), Timestamp(1)).unwrap();
    let mut stream = bench.stream(token.expose(), "/v1/pending/events").await;
    stream.next().await.unwrap();
    assert_eq!(stream.part().await.unwrap(), ": heartbeat\n\n");
    clock.forward_ms(1000);
    expect_over(stream).await;
}

#[tokio::test]
async fn logout_ends_the_streams_of_the_browser() {
    let world = World::new().await;
    let bench = &world.bench;
    let token = bench.access.login_token().unwrap().unwrap();
    let login = Request::get(format!("/login?token={}", token.expose()));
    let opened = bench.send(login, Body::empty()).await;
    let cookie = opened.headers["set-cookie"].to_str().unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let me = Request::get("/v1/me").header("cookie", cookie);
    let me = bench.send(me, Body::empty()).await.json();
    let events = Request::get("/v1/pending/events").header("cookie", cookie);
    let mut stream = bench.events(events).await;
    stream.next().await.unwrap();
    let logout = Request::post("/v1/logout")
        .header("cookie", cookie)
        .header("x-recount-csrf", me["csrf"].as_str().unwrap());
    assert_eq!(bench.send(logout, Body::empty()).await.status, 204);
    // At once: nothing else happens that would wake the stream.
    expect_over(stream).await;
}

#[tokio::test]
async fn revoked_token_ends_its_reports() {
    let world = World::new().await;
    let bench = &world.bench;
    let viewer = Revocable::new(bench, Role::Viewer);
    let mut audit = bench.stream(&viewer.token, "/v1/audit/decisions").await;
    let mut text = String::new();
    while !text.contains(r#""row":"call""#) {
        text = audit.part().await.unwrap();
    }
    let export = format!("/v1/sessions/{}/export", world.own.session);
    let mut export = bench.stream(&viewer.token, &export).await;
    assert_eq!((audit.status.as_u16(), export.status.as_u16()), (200, 200));
    viewer.revoke(bench);
    let mut rest = String::new();
    while let Some(part) = audit.part().await {
        rest.push_str(&part);
    }
    assert!(rest.contains(r#""code":"unauthenticated""#), "{rest}");
    assert!(!rest.contains(r#""row":"#), "{rest}");
    assert!(export.is_cut_off().await);
}

#[tokio::test]
async fn revoked_worker_claims_nothing_after_its_wait() {
    let engine = agents(Engine::in_memory()).open().await.unwrap();
    let session = engine.session("support").open().await.unwrap();
    let bench = Bench::over(engine);
    let worker = Revocable::new(&bench, Role::Client);
    let claim = json!({"claim": "w1", "tools": ["pack"], "wait": 60});
    let waiting = bench.post(&worker.token, "/v1/claims", &claim);
    let (refused, ()) = tokio::join!(waiting, async {
        worker.revoke(&bench);
        let (args, by) = (json!({"note": "x"}), Actor::embedder("shop"));
        let args = recount::session::Json::of(&args);
        session.begin_call("pack", args, "k1", by).await.unwrap();
    });
    assert_eq!(
        (refused.status.as_u16(), refused.code().as_str()),
        (401, "unauthenticated")
    );
    let other = bench.token("eve", &[Grant::everywhere(Role::Client)]);
    let claimed = bench.post(&other, "/v1/claims", &claim).await;
    assert_eq!(claimed.status, 200, "{}", claimed.text);
    assert_eq!(claimed.json()["attempt"], 1, "it was never started before");
}

#[tokio::test]
async fn revoked_reader_gets_no_outcome_after_its_wait() {
    let world = World::new().await;
    let bench = &world.bench;
    let reader = Revocable::new(bench, Role::Viewer);
    let call = format!(
        "/v1/sessions/{}/calls/{}",
        world.own.session, world.own.paused
    );
    let path = format!("{call}?wait=60");
    let operator = world.tenant(Role::Operator);
    let (waited, ()) = tokio::join!(bench.get(&reader.token, &path), async {
        reader.revoke(bench);
        let result = json!({"response": {"shipped": true}});
        let respond = format!("{call}/respond");
        let given = bench.post(&operator, &respond, &result).await;
        assert_eq!(given.status, 200, "{}", given.text);
    });
    assert_eq!(waited.code(), "unauthenticated", "{}", waited.text);
    assert!(!waited.text.contains("shipped"));
}

#[tokio::test]
async fn revoked_client_gets_no_outcome_of_its_call() {
    let world = World::new().await;
    let bench = &world.bench;
    let client = Revocable::new(bench, Role::Client);
    let calls = format!("/v1/sessions/{}/calls", world.own.session);
    let make = posting(&client.token, &calls)
        .header("idempotency-key", "k1")
        .header("prefer", "wait=60");
    let look = Body::from(r#"{"tool":"look","args":{"note":"seen"}}"#);
    let (refused, ()) = tokio::join!(bench.send(make, look), async {
        client.revoke(bench);
    });
    assert_eq!(refused.code(), "unauthenticated", "{}", refused.text);
    assert!(!refused.text.contains("seen"));
}

#[tokio::test]
async fn token_with_other_grants_ends_its_stream() {
    let world = World::new().await;
    let bench = &world.bench;
    let viewer = Revocable::new(bench, Role::Viewer);
    let mut stream = bench.stream(&viewer.token, "/v1/pending/events").await;
    stream.next().await.unwrap();
    // The operator narrows the token in its file.
    let path = bench.tokens_file();
    let text = std::fs::read_to_string(&path).unwrap();
    let narrowed = text.replace(r#""agents": "any""#, r#""agents": ["support"]"#);
    assert_ne!(text, narrowed);
    std::fs::write(&path, narrowed).unwrap();
    let approver = world.tenant(Role::Approver);
    let path = format!("/v1/requests/{}/answer", world.own.request);
    let answered = bench
        .post(&approver, &path, &json!({"confirmed": true}))
        .await;
    assert_eq!(answered.status, 200, "{}", answered.text);
    expect_over(stream).await;
}
