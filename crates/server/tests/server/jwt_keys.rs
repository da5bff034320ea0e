//! The keys of issuers: fetched in time, once for many requests, and from each issuer its own.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::join_all;
use recount_server::{Jwt, KeySource, KeySourceError, Rates};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::bench::Bench;
use crate::clock::HandClock;
use crate::issuer::{Published, SigningKey};
use crate::jwts::{bench, claims, jwt, status, with};
use crate::world::engine;

#[tokio::test]
async fn new_key_is_fetched_and_removed_key_ends() {
    let (old, new) = (SigningKey::p256("old"), SigningKey::p256("new"));
    let published = Published::of(&[&old]);
    let (bench, clock) = bench(jwt(published.clone())).await;
    assert_eq!(status(&bench, &old.token(&claims())).await, 200);
    published.publish(&[&old, &new]);
    assert_eq!(
        status(&bench, &new.token(&claims())).await,
        401,
        "too early"
    );
    clock.forward_ms(30_000);
    assert_eq!(status(&bench, &new.token(&claims())).await, 200);
    assert_eq!(status(&bench, &old.token(&claims())).await, 200);
    assert_eq!(published.fetches(), 2);
    published.publish(&[&new]);
    clock.forward_ms(15 * 60_000);
    assert_eq!(status(&bench, &old.token(&claims())).await, 401);
    assert_eq!(status(&bench, &new.token(&claims())).await, 200);
    assert_eq!(published.fetches(), 3);
    published.fail();
    clock.forward_ms(15 * 60_000);
    let later = key_claims_in(&clock);
    assert_eq!(
        status(&bench, &new.token(&later)).await,
        200,
        "keys outlive an outage"
    );
    assert_eq!(published.fetches(), 4);
}

/// The claims of a token that is valid for an hour from now on.
fn key_claims_in(clock: &HandClock) -> Value {
    use recount::engine::Clock;
    with("exp", clock.now().0 / 1_000_000 + 3600)
}

#[tokio::test]
async fn storm_of_unknown_keys_fetches_once() {
    let key = SigningKey::p256("one");
    let published = Published::of(&[&key]);
    let (bench, clock) = bench(jwt(published.clone())).await;
    assert_eq!(status(&bench, &key.token(&claims())).await, 200);
    for expected in [2, 3] {
        clock.forward_ms(30_000);
        // Fewer than the failed credentials of a minute.
        let storm = (0..25).map(|_| async {
            let unknown = SigningKey::p256("guess");
            assert_eq!(status(&bench, &unknown.token(&claims())).await, 401);
        });
        join_all(storm).await;
        assert_eq!(published.fetches(), expected);
    }
    // Tokens that are unfit anyhow fetch nothing.
    clock.forward_ms(30_000);
    let unknown = SigningKey::p256("guess");
    status(&bench, &unknown.token(&with("aud", "billing"))).await;
    status(&bench, &unknown.token(&with("exp", 1))).await;
    assert_eq!(published.fetches(), 3);
}

/// A source that answers when the test lets it.
struct Held(Arc<Semaphore>, Published);

#[async_trait]
impl KeySource for Held {
    async fn fetch(&self) -> Result<String, KeySourceError> {
        self.0.acquire().await.unwrap().forget();
        self.1.fetch().await
    }
}

#[tokio::test]
async fn fetch_survives_the_request_that_began_it() {
    let (key, gate) = (SigningKey::p256("one"), Arc::new(Semaphore::new(0)));
    let published = Published::of(&[&key]);
    let (bench, _) = bench(jwt(Held(gate.clone(), published.clone()))).await;
    let token = key.token(&claims());
    {
        let request = std::pin::pin!(status(&bench, &token));
        let dropped = futures_util::poll!(request);
        assert!(dropped.is_pending());
    }
    gate.add_permits(1);
    assert_eq!(status(&bench, &token).await, 200);
    assert_eq!(published.fetches(), 1);
}

#[tokio::test]
async fn missing_keys_are_a_problem_of_the_service() {
    let key = SigningKey::p256("one");
    let published = Published::default();
    let (bench, clock) = bench(jwt(published.clone())).await;
    let token = key.token(&claims());
    for _ in 0..2 {
        let refused = bench.get(&token, "/v1/me").await;
        assert_eq!(
            (refused.status.as_u16(), refused.code().as_str()),
            (503, "issuer-keys")
        );
        assert!(refused.headers.contains_key("retry-after"));
    }
    assert_eq!(published.fetches(), 1);
    published.publish(&[&key]);
    clock.forward_ms(30_000);
    assert_eq!(status(&bench, &token).await, 200);
}

#[tokio::test]
async fn outage_of_an_issuer_is_no_failure_of_its_people() {
    let key = SigningKey::p256("one");
    let jwt = jwt(Published::default());
    let rates = Rates {
        failures_per_minute: 1,
        ..Rates::default()
    };
    let bench = Bench::with(engine().await, |access| {
        let access = access.with_clock(HandClock::new());
        access.with_rates(rates).with_jwt(jwt)
    });
    for _ in 0..3 {
        assert_eq!(status(&bench, &key.token(&claims())).await, 503);
    }
}

#[tokio::test]
async fn each_issuer_has_its_own_keys() {
    let (one, other) = (SigningKey::p256("key"), SigningKey::p256("key"));
    let second = "https://second.example";
    let keys = Published::of(&[&other]);
    let (jwt, other_jwt) = (
        jwt(Published::of(&[&one])),
        Jwt::new(second, "recount", keys).unwrap(),
    );
    let bench = Bench::with(engine().await, |access| {
        let access = access.with_clock(HandClock::new());
        access.with_jwt(jwt).with_jwt(other_jwt)
    });
    let of_second = with("iss", second);
    assert_eq!(status(&bench, &one.token(&claims())).await, 200);
    let me = bench.get(&other.token(&of_second), "/v1/me").await.json();
    assert_eq!(me["actor"]["issuer"], second, "{me}");
    assert_eq!(status(&bench, &one.token(&of_second)).await, 401);
    assert_eq!(status(&bench, &other.token(&claims())).await, 401);
}

#[tokio::test]
async fn new_key_of_the_same_id_is_fetched() {
    let (old, new) = (SigningKey::p256("one"), SigningKey::p256("one"));
    let published = Published::of(&[&old]);
    let (bench, clock) = bench(jwt(published.clone())).await;
    assert_eq!(status(&bench, &old.token(&claims())).await, 200);
    published.publish(&[&new]);
    let early = status(&bench, &new.token(&claims())).await;
    assert_eq!((early, published.fetches()), (401, 1));
    clock.forward_ms(30_000);
    assert_eq!(status(&bench, &new.token(&claims())).await, 200);
    // Forged signatures fetch nothing for a while.
    for _ in 0..3 {
        assert_eq!(status(&bench, &old.token(&claims())).await, 401);
    }
    assert_eq!(published.fetches(), 2);
}
