#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use recount::engine::{Clock, SystemClock};
use recount::testing::ManualClock;
use recount_server::{Jwt, KeyFile, NewToken, Rates, Role, RoleMapping};

/// The public key of the token below. Its private key was not kept.
const JWKS: &str = r#"{"keys":[{"kty":"OKP","kid":"test","use":"sig","crv":"Ed25519",
"x":"b7jk2HKIgTIJMnilVxXJWhlVFR4ZrPEEZOaxaMhUTsk"}]}"#;

/// A token of ada for `recount`, valid until 2100, signed with Ed25519. Its role is `acme-support`.
const TOKEN: &str = concat!(
    "eyJhbGciOiJFZERTQSIsImtpZCI6InRlc3QiLCJ0eXAiOiJhdCtqd3QifQ.eyJpc3MiOiJodHRwczovL2xvZ",
    "2luLmV4YW1wbGUiLCJhdWQiOiJyZWNvdW50Iiwic3ViIjoiYWRhIiwiZXhwIjo0MTAyNDQ0ODAwLCJyb2xlc",
    "yI6WyJhY21lLXN1cHBvcnQiXSwiZ3JvdXBzIjpbInN0YWZmIl19.NtQCaig9yjQGMsbfZXoY2_q0QhV3sdmq",
    "KlefBuW1UNY-6DSV4sLQGA4W9dhfw-1KAGouPONBkgVyge1tLtjDDA",
);

/// An entrance, its store, and the directory of the store.
fn entrance() -> (TokenEntrance, Arc<TokenStore>, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let store = TokenStore::open(directory.path().join("tokens.json")).unwrap();
    let store = Arc::new(store);
    let rates = Rates {
        failures_per_minute: 2,
        ..Rates::default()
    };
    let access = Access::none().with_tokens(store.clone()).with_rates(rates);
    (TokenEntrance(access), store, directory)
}

/// A new token with this grant, and its id.
fn made(store: &TokenStore, grant: Grant) -> (String, String) {
    let new = NewToken::new("shop").grant(grant);
    let (secret, info) = store.create(new, SystemClock.now()).unwrap();
    (secret.expose().to_owned(), info.id)
}

/// The JWTs of the issuer of the token, with a grant for its role.
fn jwts(directory: &tempfile::TempDir, audience: &str, grant: Grant) -> Jwt {
    let file = directory.path().join("jwks.json");
    fs::write(&file, JWKS).unwrap();
    let jwt = Jwt::new("https://login.example", audience, KeyFile::new(file)).unwrap();
    jwt.roles(RoleMapping::new().with("acme-support", grant))
}

#[tokio::test]
async fn client_may_use_what_its_token_grants() {
    let (entrance, store, _directory) = entrance();
    let grant = Grant::everywhere(Role::Client);
    let grant = grant.of_agent("support").of_model("live").of_tool("pack");
    let (token, _) = made(&store, grant);
    let client = entrance.admit(Some(&token), None).await.unwrap();
    assert_eq!(client.actor().name, "shop");
    let none = Default::default();
    assert!(client.may_use("support", &none, Some("models/live")));
    assert!(!client.may_use("support", &none, Some("models/pro")));
    assert!(!client.may_use("billing", &none, None));
    assert!(client.may_run("support", &none, "pack"));
    assert!(!client.may_run("support", &none, "refund"));
}

#[tokio::test]
async fn revoked_token_is_valid_no_more() {
    let (entrance, store, _directory) = entrance();
    let (token, id) = made(&store, Grant::everywhere(Role::Client));
    let client = entrance.admit(Some(&token), None).await.unwrap();
    assert!(entrance.is_valid(&client));
    store.revoke(&id, SystemClock.now()).unwrap();
    assert!(!entrance.is_valid(&client));
    let refused = entrance.admit(Some(&token), None).await;
    assert_eq!(refused, Err(Refused::Unauthenticated));
}

#[tokio::test]
async fn token_that_may_not_open_sessions_is_forbidden() {
    let (entrance, store, _directory) = entrance();
    for role in [Role::Viewer, Role::Approver] {
        let (token, _) = made(&store, Grant::everywhere(role));
        let refused = entrance.admit(Some(&token), None).await;
        assert!(
            matches!(refused, Err(Refused::Forbidden { .. })),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn failures_count_by_address() {
    let (entrance, store, _directory) = entrance();
    let (token, _) = made(&store, Grant::everywhere(Role::Client));
    let from = |last| Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)));
    for wrong in ["AIza-the-vendors", "no\nheader"] {
        let refused = entrance.admit(Some(wrong), from(1)).await;
        assert_eq!(refused, Err(Refused::Unauthenticated));
    }
    for wrong in ["rct_wrong", "no\nheader"] {
        let refused = entrance.admit(Some(wrong), from(1)).await;
        assert!(
            matches!(refused, Err(Refused::TooMany { .. })),
            "{refused:?}"
        );
    }
    let other = entrance.admit(Some("rct_wrong"), from(2)).await;
    assert_eq!(other, Err(Refused::Unauthenticated));
    assert!(
        entrance.admit(Some(&token), from(1)).await.is_ok(),
        "a valid token is admitted"
    );
    for _ in 0..3 {
        // A client without a token has failed at nothing.
        let refused = entrance.admit(None, from(3)).await;
        assert_eq!(refused, Err(Refused::Unauthenticated));
    }
}

#[tokio::test]
async fn jwt_admits_with_the_grants_of_its_roles() {
    let (TokenEntrance(access), _, directory) = entrance();
    let grant = Grant::everywhere(Role::Client).of_agent("support");
    let grant = grant.of_model("live").with_label("tenant", "acme");
    let entrance = TokenEntrance(access.with_jwt(jwts(&directory, "recount", grant)));
    let client = entrance.admit(Some(TOKEN), None).await.unwrap();
    assert_eq!(client.actor().name, "ada");
    assert_eq!(client.actor().issuer(), Some("https://login.example"));
    let acme = [("tenant".to_owned(), "acme".to_owned())].into();
    assert!(client.may_use("support", &acme, Some("models/live")));
    assert!(!client.may_use("support", &acme, Some("models/pro")));
    assert!(!client.may_use("support", &Default::default(), None));
    assert!(!client.may_use("billing", &acme, None));
    let renewed = Admitted::renewable(client.actor().clone());
    assert_eq!(client.fingerprint(), renewed.fingerprint());
    assert!(!format!("{client:?}").contains(TOKEN));
    let altered = TOKEN.replace("NtQC", "NtQD");
    let refused = entrance.admit(Some(&altered), None).await;
    assert_eq!(refused, Err(Refused::Unauthenticated));
}

#[tokio::test]
async fn jwt_is_valid_until_it_expires() {
    let (TokenEntrance(access), _, directory) = entrance();
    let clock = ManualClock::new();
    // From the beginning of 2026 to the last second of 2099.
    clock.advance(Duration::from_secs(2_335_219_199));
    let jwt = jwts(&directory, "recount", Grant::everywhere(Role::Client));
    let access = access.with_clock(clock.clone());
    let entrance = TokenEntrance(access.with_jwt(jwt));
    let client = entrance.admit(Some(TOKEN), None).await.unwrap();
    assert!(entrance.is_valid(&client));
    // A second to the expiry, and the minute by which clocks may differ.
    clock.advance(Duration::from_secs(60));
    assert!(entrance.is_valid(&client));
    clock.advance(Duration::from_secs(1));
    assert!(!entrance.is_valid(&client));
}

#[tokio::test]
async fn changed_issuer_ends_what_its_jwts_opened() {
    let (TokenEntrance(access), _, directory) = entrance();
    let everywhere = || Grant::everywhere(Role::Client);
    let entrance = TokenEntrance(access.with_jwt(jwts(&directory, "recount", everywhere())));
    let client = entrance.admit(Some(TOKEN), None).await.unwrap();
    entrance
        .0
        .replace_jwts([jwts(&directory, "recount", everywhere())]);
    // The keys are fetched beside the first look.
    assert!(entrance.is_valid(&client));
    assert_eq!(entrance.admit(Some(TOKEN), None).await, Ok(client.clone()));
    let narrow = everywhere().of_agent("support");
    for other in [
        jwts(&directory, "recount", narrow),
        jwts(&directory, "other", everywhere()),
    ] {
        entrance.0.replace_jwts([other]);
        let _ = entrance.admit(Some(TOKEN), None).await;
        assert!(!entrance.is_valid(&client));
    }
}

#[tokio::test]
async fn jwt_without_keys_of_its_issuer_is_unchecked() {
    let (TokenEntrance(access), _, directory) = entrance();
    let keys = KeyFile::new(directory.path().join("missing.json"));
    let jwt = Jwt::new("https://login.example", "recount", keys).unwrap();
    let entrance = TokenEntrance(access.with_jwt(jwt));
    let refused = entrance.admit(Some(TOKEN), None).await;
    assert!(
        matches!(refused, Err(Refused::Unchecked { .. })),
        "{refused:?}"
    );
}
