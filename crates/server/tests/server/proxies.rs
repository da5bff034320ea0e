//! Users that a trusted reverse proxy names: on its connections alone.

use axum::body::Body;
use axum::http::Request;
use axum::http::request::Builder;
use recount_server::{Access, Grant, Peer, ProxyHeaders, Role, RoleMapping};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::world::{World, engine};

fn trusting(access: Access) -> Access {
    let support = Grant::everywhere(Role::Approver).of_agent("support");
    let roles = RoleMapping::new()
        .with("acme", support.with_label("tenant", "acme"))
        .with("root", Grant::everywhere(Role::Admin));
    let headers = ProxyHeaders::new("X-Forwarded-User", "sso").unwrap();
    let headers = headers.groups_header("x-forwarded-groups").unwrap();
    access.with_proxy(headers.roles(roles))
}

/// A request with the headers of the proxy, on its connection.
fn named(request: Builder, user: &str, groups: &str) -> Builder {
    let request = request.extension(Peer::TrustedProxy);
    request
        .header("x-forwarded-user", user)
        .header("x-forwarded-groups", groups)
}

#[tokio::test]
async fn user_of_the_proxy_is_a_person_in_scope() {
    let world = World::with(trusting).await;
    let me = named(Request::get("/v1/me"), "ada", "acme, staff");
    let me = world.bench.send(me, Body::empty()).await;
    assert_eq!(
        me.json()["actor"],
        json!({
            "name": "ada",
            "authenticated_by": "token",
            "issuer": "sso",
            "groups": ["acme", "staff"],
        }),
        "{}",
        me.text
    );
    // The same person, however the name was typed.
    let other = named(Request::get("/v1/me"), " ADA ", "acme, staff");
    let other = world.bench.send(other, Body::empty()).await;
    assert_eq!(other.json()["actor"], me.json()["actor"]);
    let list = named(Request::get("/v1/sessions"), "ada", "acme");
    let list = world.bench.send(list, Body::empty()).await.json();
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    // The proxy may pass on credentials of its own scheme.
    let me = named(Request::get("/v1/me"), "ada", "acme").header("authorization", "Basic YTpi");
    assert_eq!(world.bench.send(me, Body::empty()).await.status, 200);
}

#[tokio::test]
async fn header_from_elsewhere_admits_nothing() {
    let bench = Bench::with(engine().await, trusting);
    let pausing = || {
        Request::post("/v1/pause")
            .header("content-type", "application/json")
            .header("x-forwarded-user", "root")
            .header("x-forwarded-groups", "root")
    };
    let address = Peer::Address("127.0.0.1".parse().unwrap());
    for request in [pausing(), pausing().extension(address)] {
        let body = Body::from(r#"{"target":"everything"}"#);
        assert_eq!(bench.send(request, body).await.status, 401);
    }
    assert!(bench.engine.ledger().pauses().await.unwrap().is_empty());
    let viewer = bench.token("bob", &[Grant::everywhere(Role::Viewer)]);
    let me = Request::get("/v1/me")
        .header("authorization", format!("Bearer {viewer}"))
        .header("x-forwarded-user", "root");
    let me = bench.send(me, Body::empty()).await.json();
    assert_eq!(me["actor"]["name"], "bob");
    assert_eq!(me["grants"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn unfit_headers_of_the_proxy_are_refused() {
    let bench = Bench::with(engine().await, trusting);
    let me = || Request::get("/v1/me").extension(Peer::TrustedProxy);
    let admin = bench.admin();
    let many = "g,".repeat(10) + &(0..300).map(|it| format!("g{it},")).collect::<String>();
    for (what, request) in [
        ("no header", me()),
        ("no name", me().header("x-forwarded-user", " ")),
        (
            "a long name",
            me().header("x-forwarded-user", "x".repeat(300)),
        ),
        (
            "no text",
            me().header("x-forwarded-user", "ad\u{e4}".as_bytes()),
        ),
        ("many groups", named(Request::get("/v1/me"), "ada", &many)),
        // A proxy that adds its header behind that of the client.
        (
            "two names",
            named(Request::get("/v1/me"), "root", "").header("x-forwarded-user", "ada"),
        ),
        (
            "groups twice",
            named(Request::get("/v1/me"), "ada", "root").header("x-forwarded-groups", "acme"),
        ),
    ] {
        // Valid credentials do not make up for them.
        let request = match what {
            "no header" => request,
            _ => request.header("authorization", format!("Bearer {admin}")),
        };
        let refused = bench.send(request, Body::empty()).await;
        assert_eq!(refused.status, 401, "{what}");
    }
}

#[tokio::test]
async fn page_of_another_site_changes_nothing_through_the_proxy() {
    let bench = Bench::with(engine().await, trusting);
    let pausing = || {
        let request = named(Request::post("/v1/pause"), "root", "root");
        request.header("content-type", "application/json")
    };
    let everything = || Body::from(r#"{"target":"everything"}"#);
    let foreign = pausing().header("origin", "https://attacker.example");
    assert_eq!(bench.send(foreign, everything()).await.code(), "cross-site");
    let rebound = pausing().header("host", "attacker.example");
    assert_eq!(bench.send(rebound, everything()).await.code(), "wrong-host");
    assert!(bench.engine.ledger().pauses().await.unwrap().is_empty());
    assert_eq!(bench.send(pausing(), everything()).await.status, 200);
}

#[tokio::test]
async fn service_without_a_proxy_reads_no_header() {
    let bench = Bench::over(engine().await);
    let me = named(Request::get("/v1/me"), "root", "root");
    let me = bench.send(me, Body::empty()).await;
    assert_eq!(
        (me.status.as_u16(), me.json()["actor"].clone()),
        (401, Value::Null)
    );
    assert!(ProxyHeaders::new("x y", "sso").is_err());
    assert!(ProxyHeaders::new("x-user", "recount").is_err());
}
