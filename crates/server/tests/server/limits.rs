//! Limits over time and at the same time: each of a principal or of an address.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::Request;
use axum::http::request::Builder;
use recount::session::Actor;
use recount_server::{Grant, Peer, Principal, Rates, Role};

use crate::bench::{Bench, Reply, posting};
use crate::clock::HandClock;
use crate::world::{World, engine};

/// A bench with these rates, with its clock.
async fn bench(rates: Rates) -> (Bench, Arc<HandClock>) {
    let clock = HandClock::new();
    let to_set = clock.clone();
    let bench = Bench::with(engine().await, |access| {
        access.with_clock(to_set).with_rates(rates)
    });
    (bench, clock)
}

fn from(address: &str, request: Builder) -> Builder {
    request.extension(Peer::Address(address.parse().unwrap()))
}

/// The status, the code and the time to wait.
fn refusal(reply: &Reply) -> (u16, String, &str) {
    let wait = reply.headers.get("retry-after");
    let wait = wait.map_or("", |it| it.to_str().unwrap());
    (reply.status.as_u16(), reply.code(), wait)
}

#[tokio::test]
async fn requests_of_a_principal_are_limited() {
    let rates = Rates {
        requests_per_second: 1,
        ..Rates::default()
    };
    let (bench, clock) = bench(rates).await;
    let viewer = || [Grant::everywhere(Role::Viewer)];
    let (ada, again, bob) = (
        bench.token("ada", &viewer()),
        bench.token("ada", &viewer()),
        bench.token("bob", &viewer()),
    );
    for token in [&ada, &again] {
        assert_eq!(bench.get(token, "/v1/me").await.status, 200);
    }
    for token in [&ada, &again] {
        let refused = bench.get(token, "/v1/me").await;
        let expected = (429, "too-many-requests".to_owned(), "1");
        assert_eq!(refusal(&refused), expected);
        assert_eq!(refused.headers["content-type"], "application/problem+json");
    }
    assert_eq!(bench.get(&bob, "/v1/me").await.status, 200);
    assert_eq!(bench.get("", "/healthz").await.status, 200);
    clock.forward_ms(1000);
    assert_eq!(bench.get(&ada, "/v1/me").await.status, 200);
    assert_eq!(bench.get(&ada, "/v1/me").await.status, 429);
}

fn without_grants() -> Principal {
    Principal::new(Actor::embedder("bob"), Vec::new())
}

#[tokio::test]
async fn failed_credentials_of_an_address_are_limited() {
    let rates = Rates {
        failures_per_minute: 2,
        ..Rates::default()
    };
    let (bench, clock) = bench(rates).await;
    let guess = |address: &str| {
        let request = Request::get("/v1/me").header("authorization", "Bearer rct_guess");
        from(address, request)
    };
    let login = from("192.0.2.1", Request::get("/login?token=rcl_guess"));
    assert_eq!(bench.send(login, Body::empty()).await.status, 401);
    assert_eq!(
        bench.send(guess("192.0.2.1"), Body::empty()).await.status,
        401
    );
    let expected = (429, "too-many-requests".to_owned(), "30");
    let cookie = bench.access.open_session(without_grants()).unwrap();
    let (name, _) = cookie.split_once('=').unwrap();
    let by_cookie = Request::get("/v1/me").header("cookie", format!("{name}=guess"));
    for request in [
        guess("192.0.2.1"),
        from("192.0.2.1", Request::get("/login?token=rcl_guess")),
        from("192.0.2.1", by_cookie),
    ] {
        let refused = bench.send(request, Body::empty()).await;
        assert_eq!(refusal(&refused), expected);
    }
    for (address, status) in [
        ("192.0.2.2", 401),
        ("::ffff:192.0.2.1", 429),
        ("2001:db8::1", 401),
        ("2001:db8::2", 401),
        // The third one of a network.
        ("2001:db8::3", 429),
        ("2001:db8:0:1::1", 401),
    ] {
        let guessed = bench.send(guess(address), Body::empty()).await;
        assert_eq!(guessed.status, status, "{address}");
    }
    // A request without credentials guesses nothing.
    let none = from("192.0.2.1", Request::get("/v1/me"));
    assert_eq!(bench.send(none, Body::empty()).await.status, 401);
    // Other people at the same address are not locked out.
    let me = Request::get("/v1/me").header("authorization", format!("Bearer {}", bench.admin()));
    let me = bench.send(from("192.0.2.1", me), Body::empty()).await;
    assert_eq!(me.status, 200);
    clock.forward_ms(30_000);
    assert_eq!(
        bench.send(guess("192.0.2.1"), Body::empty()).await.status,
        401
    );
    assert_eq!(
        bench.send(guess("192.0.2.1"), Body::empty()).await.status,
        429
    );
}

#[tokio::test]
async fn streams_of_a_principal_are_limited() {
    let world = World::new().await;
    let service = world.bench.service.clone().streams_of_each(3);
    let bench = world.bench.over_service(service);
    let viewer = || [Grant::everywhere(Role::Viewer)];
    let (ada, bob) = (bench.token("ada", &viewer()), bench.token("bob", &viewer()));
    let path = format!("/v1/sessions/{}/events", world.own.session);
    let mut open = Vec::new();
    for _ in 0..3 {
        let events = bench.stream(&ada, &path).await;
        assert_eq!(events.status, 200);
        open.push(events);
    }
    let refused = bench.get(&ada, &path).await;
    assert_eq!(
        refusal(&refused),
        (429, "too-many-requests".to_owned(), "5")
    );
    let others = bench.stream(&bob, &path).await;
    assert_eq!(others.status, 200);
    drop(others);
    open.pop();
    assert_eq!(bench.stream(&ada, &path).await.status, 200);
}

#[tokio::test]
async fn waiting_requests_of_a_principal_are_limited() {
    let bench = Bench::over(engine().await);
    let service = bench.service.clone().waits_of_each(0);
    let bench = bench.over_service(service);
    let token = bench.token("worker", &[Grant::everywhere(Role::Client)]);
    let claim = serde_json::json!({"claim": "w1", "wait": 30});
    let refused = bench.post(&token, "/v1/claims", &claim).await;
    assert_eq!(
        refusal(&refused),
        (429, "too-many-requests".to_owned(), "5")
    );
    // A refused request makes no call.
    let session = bench.engine.session("support").open().await.unwrap();
    let calls = format!("/v1/sessions/{}/calls", session.session_id());
    let make = posting(&token, &calls)
        .header("idempotency-key", "k1")
        .header("prefer", "wait=30");
    let refused = bench.send(make, Body::from(r#"{"tool":"refund"}"#)).await;
    assert_eq!(refused.status, 429, "{}", refused.text);
    let listed = bench.get(&bench.admin(), &calls).await.json();
    assert_eq!(listed["items"], serde_json::json!([]));
    let at_once = serde_json::json!({"claim": "w1"});
    assert_eq!(bench.post(&token, "/v1/claims", &at_once).await.status, 204);
}

/// A body that never ends and never has another part.
struct Stalled;

impl axum::body::HttpBody for Stalled {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        Poll::Pending
    }
}

/// The time stands still, and goes to the next deadline when every task waits.
#[tokio::test(start_paused = true)]
async fn stalled_body_is_given_up() {
    let bench = Bench::over(engine().await);
    let token = bench.admin();
    for key in [None, Some("k")] {
        let mut request = posting(&token, "/v1/pause");
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let begun = tokio::time::Instant::now();
        let refused = bench.send(request, Body::new(Stalled)).await;
        assert_eq!(
            (refused.status.as_u16(), refused.code().as_str()),
            (408, "too-slow")
        );
        assert_eq!(begun.elapsed().as_secs(), 30);
    }
    assert!(bench.engine.ledger().pauses().await.unwrap().is_empty());
}
