//! `Idempotency-Key`: a repeated POST gets the first answer.

use axum::body::Body;
use axum::http::Request;
use recount_server::{Grant, Role};
use serde_json::json;

use crate::bench::{Bench, Reply, posting};
use crate::world::{World, engine};

async fn answer(world: &World, token: &str, key: &str, confirmed: bool) -> Reply {
    let path = format!("/v1/requests/{}/answer", world.own.request);
    let request = posting(token, &path).header("idempotency-key", key);
    let body = json!({"confirmed": confirmed}).to_string();
    world.bench.send(request, Body::from(body)).await
}

#[tokio::test]
async fn repeated_request_gets_the_first_answer() {
    let world = World::new().await;
    let token = world.tenant(Role::Approver);
    let first = answer(&world, &token, "k1", true).await;
    let again = answer(&world, &token, "k1", true).await;
    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!((again.status, &again.text), (first.status, &first.text));
    assert_eq!(again.headers["idempotent-replayed"], "true");
    assert_eq!(again.headers["content-type"], first.headers["content-type"]);
    let without = answer(&world, &token, "k2", true).await;
    assert_eq!(without.code(), "already-answered");
    let refusal = answer(&world, &token, "k2", true).await;
    assert_eq!(
        (refusal.status, refusal.text),
        (without.status, without.text)
    );
}

#[tokio::test]
async fn key_of_another_body_is_refused() {
    let world = World::new().await;
    let token = world.tenant(Role::Approver);
    answer(&world, &token, "k1", true).await;
    let other = answer(&world, &token, "k1", false).await;
    assert_eq!(
        (other.status.as_u16(), other.code().as_str()),
        (422, "idempotency-key-reused")
    );
}

#[tokio::test]
async fn key_belongs_to_its_sender_and_grants() {
    let world = World::new().await;
    let token = world.tenant(Role::Approver);
    assert_eq!(answer(&world, &token, "k1", true).await.status, 200);
    let eve = world
        .bench
        .token("eve", &[Grant::everywhere(Role::Approver)]);
    assert_eq!(
        answer(&world, &eve, "k1", true).await.code(),
        "already-answered"
    );
    // A token of the same name with other grants sees nothing of the first answer.
    let elsewhere = Grant::everywhere(Role::Approver).of_agent("billing");
    let elsewhere = world.bench.token("ada", &[elsewhere]);
    let unknown = answer(&world, &elsewhere, "k1", true).await;
    assert_eq!(unknown.code(), "unknown-request");
}

#[tokio::test]
async fn unfit_key_is_refused() {
    let world = World::new().await;
    let token = world.tenant(Role::Approver);
    for key in [String::new(), "x".repeat(201)] {
        let refused = answer(&world, &token, &key, true).await;
        assert_eq!(refused.code(), "unfit-idempotency-key");
    }
    let path = format!("/v1/requests/{}/answer", world.own.request);
    let twice = posting(&token, &path)
        .header("idempotency-key", "k1")
        .header("idempotency-key", "k2");
    let body = json!({"confirmed": true}).to_string();
    let refused = world.bench.send(twice, Body::from(body)).await;
    assert_eq!(refused.code(), "unfit-idempotency-key");
    assert_eq!(
        answer(&world, &token, &"x".repeat(200), true).await.status,
        200
    );
}

#[tokio::test]
async fn failure_of_the_service_is_not_kept() {
    let world = World::new().await;
    let token = world.tenant(Role::Approver);
    world.bench.service.drain();
    let first = answer(&world, &token, "k1", true).await;
    let again = answer(&world, &token, "k1", true).await;
    assert_eq!((first.status.as_u16(), again.status.as_u16()), (503, 503));
    assert!(!again.headers.contains_key("idempotent-replayed"));
}

#[tokio::test]
async fn conflict_of_a_moment_is_not_kept() {
    let world = World::new().await;
    let token = world.bench.token("ada", &[Grant::everywhere(Role::Client)]);
    let call = format!(
        "/v1/sessions/{}/calls/{}",
        world.own.session, world.own.claimed
    );
    let claim = async || {
        let request = posting(&token, "/v1/claims").header("idempotency-key", "k1");
        let (session, call) = (world.own.session, world.own.claimed);
        let body = json!({"claim": "w2", "session": session, "call": call});
        world
            .bench
            .send(request, Body::from(body.to_string()))
            .await
    };
    assert_eq!(claim().await.code(), "already-claimed");
    let back = json!({"claim": "held", "not_begun": true});
    let release = format!("{call}/claim/release");
    let released = world.bench.post(&token, &release, &back).await;
    assert_eq!(released.status, 200, "{}", released.text);
    let claimed = claim().await;
    assert_eq!(claimed.status, 200, "{}", claimed.text);
    assert_eq!(claim().await.headers["idempotent-replayed"], "true");
}

#[tokio::test]
async fn lack_of_a_place_is_not_kept() {
    let bench = Bench::over(engine().await);
    let service = bench.service.clone().waits_of_each(0);
    let bench = bench.over_service(service);
    let token = bench.token("worker", &[Grant::everywhere(Role::Client)]);
    for _ in 0..2 {
        let claim = posting(&token, "/v1/claims").header("idempotency-key", "k1");
        let body = json!({"claim": "w1", "wait": 30}).to_string();
        let refused = bench.send(claim, Body::from(body)).await;
        assert_eq!(refused.status, 429, "{}", refused.text);
        assert!(!refused.headers.contains_key("idempotent-replayed"));
    }
}

#[tokio::test]
async fn reading_request_is_never_answered_from_the_table() {
    let world = World::new().await;
    let token = world.tenant(Role::Viewer);
    for _ in 0..2 {
        let list = Request::get("/v1/sessions")
            .header("authorization", format!("Bearer {token}"))
            .header("idempotency-key", "k1");
        let list = world.bench.send(list, Body::empty()).await;
        assert_eq!(list.status, 200);
        assert!(!list.headers.contains_key("idempotent-replayed"));
    }
}
