//! JWTs at the entrance: which tokens are admitted, as whom, and which keys verify them.

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use axum::http::Request;
use axum::http::request::Parts;
use recount::session::Actor;
use recount_server::{
    Authenticator, Grant, Jwt, JwtAlgorithm, KeySource, Principal, Problem, Role, RoleMapping,
    UnfitIssuer,
};
use ring::hmac;
use serde_json::{Value, json};

use crate::bench::{Bench, posting};
use crate::clock::HandClock;
use crate::issuer::{Published, SigningKey, base64url, message, set_of};
use crate::world::{World, engine};

const ISSUER: &str = "https://login.example";

/// The time of the clock at its start, in seconds since 1970.
const NOW_S: i64 = 1_800_000_000;

/// The claims of a valid token.
pub(crate) fn claims() -> Value {
    json!({
        "iss": ISSUER,
        "aud": "recount",
        "sub": "ada",
        "exp": NOW_S + 3600,
        "roles": ["acme-support", "finance"],
        "groups": ["staff"],
    })
}

/// The claims with another value of one of them.
pub(crate) fn with(claim: &str, value: impl Into<Value>) -> Value {
    let mut claims = claims();
    claims[claim] = value.into();
    claims
}

fn without(claim: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().unwrap().remove(claim);
    claims
}

pub(crate) fn jwt(keys: impl KeySource) -> Jwt {
    let support = Grant::everywhere(Role::Approver).of_agent("support");
    let support = support.with_label("tenant", "acme");
    let roles = RoleMapping::new().with("acme-support", support);
    let roles = roles.with("root", Grant::everywhere(Role::Admin));
    Jwt::new(ISSUER, "recount", keys).unwrap().roles(roles)
}

/// A bench that admits these JWTs, with its clock.
pub(crate) async fn bench(jwt: Jwt) -> (Bench, Arc<HandClock>) {
    let clock = HandClock::new();
    let to_set = clock.clone();
    let bench = Bench::with(engine().await, |access| {
        access.with_clock(to_set).with_jwt(jwt)
    });
    (bench, clock)
}

/// The status of a request with the token.
pub(crate) async fn status(bench: &Bench, token: &str) -> u16 {
    bench.get(token, "/v1/me").await.status.as_u16()
}

#[tokio::test]
async fn token_is_a_person_with_roles_in_scope() {
    let key = SigningKey::p256("one");
    let jwt = jwt(Published::of(&[&key]));
    let world = World::with(|access| access.with_clock(HandClock::new()).with_jwt(jwt)).await;
    let (bench, token) = (&world.bench, key.token(&claims()));
    let me = bench.get(&token, "/v1/me").await;
    assert_eq!(
        me.json()["actor"],
        json!({
            "name": "ada",
            "authenticated_by": "token",
            "issuer": ISSUER,
            "roles": ["acme-support", "finance"],
            "groups": ["staff"],
        })
    );
    assert_eq!(me.json()["csrf"], Value::Null);
    let sessions = bench.get(&token, "/v1/sessions").await.json();
    let items = sessions["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{sessions}");
    assert_eq!(items[0]["session"], world.own.session.to_string());
    let answer = format!("/v1/requests/{}/answer", world.own.request);
    let answered = bench
        .post(&token, &answer, &json!({"confirmed": true}))
        .await;
    assert_eq!(answered.status, 200, "{}", answered.text);
    let foreign = format!("/v1/requests/{}/answer", world.other_tenant.request);
    let foreign = bench
        .post(&token, &foreign, &json!({"confirmed": true}))
        .await;
    assert_eq!(foreign.status, 404);
    let none = key.token(&with("roles", json!(["other"])));
    let sessions = bench.get(&none, "/v1/sessions").await.json();
    assert_eq!(sessions["items"], json!([]));
}

#[tokio::test]
async fn unfit_tokens_are_refused_without_effect() {
    let (key, foreign) = (SigningKey::p256("one"), SigningKey::p256("one"));
    let published = Published::of(&[&key]);
    let (bench, _) = bench(jwt(published.clone())).await;
    let root = with("roles", json!(["root"]));
    let change = |claim: &str, value: Value| {
        let mut claims = root.clone();
        claims[claim] = value;
        claims
    };
    let mut unfit = vec![
        (
            "another audience",
            key.token(&change("aud", json!("billing"))),
        ),
        (
            "other audiences",
            key.token(&change("aud", json!(["a", "recount2"]))),
        ),
        (
            "another issuer",
            key.token(&change("iss", json!("https://evil.example"))),
        ),
        (
            "an issuer in a list",
            key.token(&change("iss", json!([ISSUER]))),
        ),
        ("expired", key.token(&change("exp", json!(NOW_S - 60)))),
        (
            "expiry as a text",
            key.token(&change("exp", json!("9999999999"))),
        ),
        (
            "not yet valid",
            key.token(&change("nbf", json!(NOW_S + 61))),
        ),
        (
            "beginning as a text",
            key.token(&change("nbf", json!("9999999999"))),
        ),
        (
            "a subject of another type",
            key.token(&change("sub", json!(7))),
        ),
        ("an empty subject", key.token(&change("sub", json!("")))),
        ("a blank one", key.token(&change("sub", json!(" ")))),
        (
            "an unseen one",
            key.token(&change("sub", json!("a\u{1b}[2J"))),
        ),
        ("a padded one", key.token(&change("sub", json!("ada ")))),
        ("a foreign key", foreign.token(&root)),
        ("no expiry", key.token(&without("exp"))),
        ("no audience", key.token(&without("aud"))),
        ("no issuer", key.token(&without("iss"))),
        ("no subject", key.token(&without("sub"))),
    ];
    unfit.extend(forged(&key, &foreign, &root));
    let refusal = bench.get("eyJ.e30.", "/v1/me").await;
    assert_eq!(refusal.status, 401);
    for (what, token) in &unfit {
        let body = Body::from(r#"{"target":"everything"}"#);
        let refused = bench.send(posting(token, "/v1/pause"), body).await;
        assert_eq!(refused.status, 401, "{what}: {}", refused.text);
        assert_eq!(refused.text, refusal.text, "{what}: the fault is not told");
        assert_eq!(refused.headers["www-authenticate"], "Bearer");
    }
    assert!(bench.engine.ledger().pauses().await.unwrap().is_empty());
    assert!(published.fetches() <= 1, "{}", published.fetches());
    let body = Body::from(r#"{"target":"everything"}"#);
    let fit = bench
        .send(posting(&key.token(&root), "/v1/pause"), body)
        .await;
    assert_eq!(fit.status, 200, "{}", fit.text);
}

/// Tokens that the key has not signed with their algorithm.
fn forged(key: &SigningKey, foreign: &SigningKey, claims: &Value) -> Vec<(&'static str, String)> {
    let signed = key.token(claims);
    let (body, signature) = signed.rsplit_once('.').unwrap();
    let header = |alg: &str| json!({"alg": alg, "kid": "one"});
    let unsigned = |alg: &str| format!("{}.", message(&header(alg), claims));
    let by_secret = |secret: &[u8]| {
        let text = message(&header("HS256"), claims);
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), text.as_bytes());
        format!("{text}.{}", base64url(tag))
    };
    let own_key = json!({"alg": "ES256", "kid": "one", "jwk": foreign.jwk()});
    let url = json!({"alg": "ES256", "kid": "one", "jku": "http://127.0.0.1:1/jwks"});
    let mut changed = claims.clone();
    changed["sub"] = "eve".into();
    vec![
        ("unsigned", format!("{body}.")),
        ("two parts", body.to_owned()),
        ("alg none", unsigned("none")),
        ("alg None", unsigned("None")),
        ("alg none with a signature", {
            format!("{}.{signature}", message(&header("none"), claims))
        }),
        ("a public key as secret", by_secret(&key.public())),
        (
            "a JWK as secret",
            by_secret(key.jwk().to_string().as_bytes()),
        ),
        ("an empty secret", by_secret(b"")),
        ("changed claims", {
            let header = json!({"alg": "ES256", "kid": "one", "typ": "at+jwt"});
            format!("{}.{signature}", message(&header, &changed))
        }),
        (
            "an algorithm of another key",
            key.token_with("EdDSA", claims),
        ),
        (
            "a key of its own",
            foreign.sign(&message(&own_key, claims), "ES256"),
        ),
        (
            "a URL of its own",
            foreign.sign(&message(&url, claims), "ES256"),
        ),
    ]
}

#[tokio::test]
async fn every_algorithm_is_verified() {
    let keys = [
        SigningKey::p256("p256"),
        SigningKey::p384("p384"),
        SigningKey::ed25519("ed"),
        SigningKey::rsa("rsa"),
    ];
    let [p256, p384, ed, rsa] = &keys;
    let published = Published::of(&[p256, p384, ed, rsa]);
    let (bench_of_all, _) = bench(jwt(published.clone())).await;
    for key in [p256, p384, ed] {
        assert_eq!(
            status(&bench_of_all, &key.token(&claims())).await,
            200,
            "{}",
            key.id
        );
    }
    for algorithm in ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"] {
        let token = rsa.token_with(algorithm, &claims());
        assert_eq!(status(&bench_of_all, &token).await, 200, "{algorithm}");
        // The header names another algorithm than that of the signature.
        let header = json!({"alg": "RS256", "kid": "rsa"});
        let other = rsa.sign(&message(&header, &claims()), algorithm);
        let expected = if algorithm == "RS256" { 200 } else { 401 };
        assert_eq!(status(&bench_of_all, &other).await, expected, "{algorithm}");
    }
    let only = jwt(published).algorithms([JwtAlgorithm::Es256]);
    let (bench_of_one, _) = bench(only).await;
    assert_eq!(status(&bench_of_one, &p256.token(&claims())).await, 200);
    assert_eq!(status(&bench_of_one, &ed.token(&claims())).await, 401);
    assert_eq!(status(&bench_of_one, &rsa.token(&claims())).await, 401);
}

#[tokio::test]
async fn clocks_may_differ_by_the_skew() {
    let key = SigningKey::ed25519("one");
    let (bench, clock) = bench(jwt(Published::of(&[&key]))).await;
    let expiring = key.token(&with("exp", NOW_S + 10));
    let early = key.token(&with("nbf", NOW_S + 100));
    assert_eq!(status(&bench, &expiring).await, 200);
    assert_eq!(status(&bench, &early).await, 401);
    clock.forward_ms(69_999);
    assert_eq!(status(&bench, &expiring).await, 200);
    assert_eq!(status(&bench, &early).await, 200);
    clock.forward_ms(1);
    assert_eq!(status(&bench, &expiring).await, 401);
}

#[tokio::test]
async fn refused_tokens_are_counted_by_their_fault() {
    let key = SigningKey::p256("one");
    let (bench, _) = bench(jwt(Published::of(&[&key]))).await;
    let expired = key.token(&with("exp", 1));
    let foreign = key.token(&with("iss", "https://evil.example"));
    for token in [&expired, &expired, &foreign, "opaque"] {
        assert_eq!(status(&bench, token).await, 401);
    }
    assert_eq!(status(&bench, &key.token(&claims())).await, 200);
    let metrics = bench.get(&bench.admin(), "/metrics").await.text;
    for (fault, number) in [("expired", 2), ("issuer", 1), ("malformed", 1)] {
        let line = format!("recount_jwt_refused_total{{fault=\"{fault}\"}} {number}");
        assert!(metrics.lines().any(|it| it == line), "{line}: {metrics}");
    }
    assert_eq!(metrics.matches("recount_jwt_refused_total{").count(), 3);
}

#[tokio::test]
async fn replaced_issuer_counts_for_a_running_service() {
    let key = SigningKey::p256("one");
    let (bench, _) = bench(jwt(Published::of(&[&key]))).await;
    let token = key.token(&claims());
    assert_eq!(status(&bench, &token).await, 200);
    let other = Jwt::new(ISSUER, "billing", Published::of(&[&key])).unwrap();
    bench.access.replace_jwts([other]);
    assert_eq!(status(&bench, &token).await, 401);
    let billing = key.token(&with("aud", "billing"));
    assert_eq!(status(&bench, &billing).await, 200);
    bench.access.replace_jwts([]);
    assert_eq!(status(&bench, &billing).await, 401);
}

/// An authenticator that admits every bearer token.
struct Everyone;

#[async_trait]
impl Authenticator for Everyone {
    async fn authenticate(&self, request: &Parts) -> Result<Option<Principal>, Problem> {
        let token = recount_server::bearer(request);
        Ok(token.map(|_| Principal::new(Actor::embedder("everyone"), Vec::new())))
    }
}

#[tokio::test]
async fn refused_token_is_not_shown_to_other_authenticators() {
    let key = SigningKey::p256("one");
    let jwt = jwt(Published::of(&[&key]));
    let bench = Bench::with(engine().await, |access| {
        let access = access.with_clock(HandClock::new()).with_jwt(jwt);
        access.with_authenticator(Arc::new(Everyone))
    });
    for refused in ["rct_guess", &key.token(&with("exp", 1))] {
        assert_eq!(status(&bench, refused).await, 401, "{refused}");
    }
    let me = bench.get("of another kind", "/v1/me").await.json();
    assert_eq!(me["actor"]["name"], "everyone");
}

#[tokio::test]
async fn roles_come_from_the_configured_claims() {
    let key = SigningKey::p256("one");
    let jwt = jwt(Published::of(&[&key]))
        .roles_claim("/realm_access/roles")
        .groups_claim("scope");
    let (bench, _) = bench(jwt).await;
    let mut claims = claims();
    claims["realm_access"] = json!({"roles": ["root"]});
    // Groups give no grants, even if one is called like a role.
    claims["scope"] = "staff acme-support openid".into();
    let me = bench.get(&key.token(&claims), "/v1/me").await.json();
    assert_eq!(me["grants"].as_array().unwrap().len(), 1, "{me}");
    assert_eq!(me["grants"][0]["role"], "admin", "{me}");
    assert_eq!(me["actor"]["roles"], json!(["root"]));
    assert_eq!(
        me["actor"]["groups"],
        json!(["acme-support", "openid", "staff"])
    );
    let many: Vec<String> = (0..300).map(|it| format!("group-{it}")).collect();
    claims["scope"] = many.into();
    assert_eq!(status(&bench, &key.token(&claims)).await, 401);
}

#[tokio::test]
async fn token_in_a_url_or_a_cookie_admits_nothing() {
    let key = SigningKey::p256("one");
    let (bench, _) = bench(jwt(Published::of(&[&key]))).await;
    let token = key.token(&claims());
    let in_url = Request::get(format!("/v1/me?access_token={token}"));
    assert_eq!(bench.send(in_url, Body::empty()).await.status, 401);
    let cookie = Request::get("/v1/me").header("cookie", format!("token={token}"));
    assert_eq!(bench.send(cookie, Body::empty()).await.status, 401);
    let twice = Request::get("/v1/me")
        .header("authorization", format!("Bearer {token}"))
        .header("authorization", format!("Bearer {token}"));
    assert_eq!(bench.send(twice, Body::empty()).await.status, 401);
}

#[test]
fn issuers_of_the_service_are_reserved() {
    let new = |issuer| Jwt::new(issuer, "recount", Published::default());
    for own in ["recount", "os_user", "embedder", ""] {
        let refused: Result<Jwt, UnfitIssuer> = new(own);
        assert!(refused.is_err(), "{own:?}");
    }
    let key = SigningKey::p256("one");
    assert!(set_of(&[&key]).contains("P-256"));
}
