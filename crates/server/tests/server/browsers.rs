//! Browsers: login, cookies, and what pages of other sites can do.

use axum::body::Body;
use axum::http::Request;
use recount::session::Actor;
use recount_server::{Access, Grant, Principal, Role};
use serde_json::json;

use crate::bench::{Bench, posting};
use crate::clock::HandClock;
use crate::world::{World, engine};

/// A cookie and the token for its changes.
struct Login {
    cookie: String,
    csrf: String,
}

async fn log_in(bench: &Bench) -> Login {
    let token = bench.access.login_token().unwrap().unwrap();
    let login = format!("/login?token={}", token.expose());
    let opened = bench.send(Request::get(&login), Body::empty()).await;
    assert_eq!(opened.status, 303, "{}", opened.text);
    let set = opened.headers["set-cookie"].to_str().unwrap();
    assert!(set.contains("; HttpOnly; SameSite=Lax"), "{set}");
    assert!(!set.contains(token.expose()));
    assert!(
        !opened.headers["location"]
            .to_str()
            .unwrap()
            .contains("token")
    );
    let cookie = set.split(';').next().unwrap().to_owned();
    // The token was in a URL, and is of no use any more.
    let again = bench.send(Request::get(&login), Body::empty()).await;
    assert_eq!(again.status, 401);
    let me = Request::get("/v1/me").header("cookie", &cookie);
    let me = bench.send(me, Body::empty()).await.json();
    let csrf = me["csrf"].as_str().unwrap().to_owned();
    assert_eq!(
        me["actor"],
        json!({"name": "ada", "authenticated_by": "token"})
    );
    Login { cookie, csrf }
}

fn pausing(login: &Login) -> axum::http::request::Builder {
    Request::post("/v1/pause")
        .header("cookie", &login.cookie)
        .header("content-type", "application/json")
}

fn everything() -> Body {
    Body::from(r#"{"target":"everything"}"#)
}

#[tokio::test]
async fn cookie_needs_its_token_for_changes() {
    let bench = Bench::over(engine().await);
    let login = log_in(&bench).await;
    let without = bench.send(pausing(&login), everything()).await;
    assert_eq!(
        (without.status.as_u16(), without.code().as_str()),
        (403, "csrf-token")
    );
    for wrong in ["x", "", &login.csrf[..20], &log_in(&bench).await.csrf] {
        let wrong = pausing(&login).header("x-recount-csrf", wrong);
        assert_eq!(bench.send(wrong, everything()).await.code(), "csrf-token");
    }
    let twice = pausing(&login).header("x-recount-csrf", &login.csrf);
    let twice = twice.header("x-recount-csrf", "x");
    assert_eq!(bench.send(twice, everything()).await.code(), "csrf-token");
    // A script reads the token, and must not learn the cookie from it.
    assert!(!login.cookie.contains(&login.csrf));
    assert!(bench.engine.ledger().pauses().await.unwrap().is_empty());
    let with = pausing(&login).header("x-recount-csrf", &login.csrf);
    let with = bench.send(with, everything()).await;
    assert_eq!(with.status, 200, "{}", with.text);
}

#[tokio::test]
async fn cookie_is_secure_where_connections_are_encrypted() {
    let attributes = |access: &Access| {
        let bob = Principal::new(Actor::embedder("bob"), Vec::new());
        let set = access.open_session(bob).unwrap();
        set.split_once("; ").unwrap().1.to_owned()
    };
    let plain = "Path=/; HttpOnly; SameSite=Lax";
    let secure = format!("{plain}; Secure");
    let at = |url: &str| Access::none().with_public_url(url).unwrap();
    assert_eq!(attributes(&Access::none()), plain);
    assert_eq!(attributes(&at("http://recount.example")), plain);
    assert_eq!(attributes(&at("https://recount.example")), secure);
    assert_eq!(attributes(&Access::none().with_tls()), secure);
}

#[tokio::test]
async fn login_ends_after_twelve_hours_and_its_link_after_ten_minutes() {
    let clock = HandClock::new();
    let to_set = clock.clone();
    let bench = Bench::with(engine().await, |access| access.with_clock(to_set));
    let links = [0; 2].map(|_| bench.access.login_token().unwrap().unwrap());
    let [in_time, late] = links.map(|it| format!("/login?token={}", it.expose()));
    clock.forward_ms(600_000 - 1);
    let opened = bench.send(Request::get(&in_time), Body::empty()).await;
    let cookie = opened.headers["set-cookie"].to_str().unwrap().to_owned();
    clock.forward_ms(1);
    let refused = bench.send(Request::get(&late), Body::empty()).await;
    assert_eq!(refused.status, 401);
    let me = || Request::get("/v1/me").header("cookie", &cookie);
    clock.forward_ms(12 * 3_600_000 - 2);
    assert_eq!(bench.send(me(), Body::empty()).await.status, 200);
    clock.forward_ms(1);
    assert_eq!(bench.send(me(), Body::empty()).await.status, 401);
}

#[tokio::test]
async fn cookie_is_of_no_use_after_the_logout() {
    let bench = Bench::over(engine().await);
    let (login, other) = (log_in(&bench).await, log_in(&bench).await);
    let logout = Request::post("/v1/logout")
        .header("cookie", &login.cookie)
        .header("x-recount-csrf", &login.csrf);
    let logout = bench.send(logout, Body::empty()).await;
    assert_eq!(logout.status, 204, "{}", logout.text);
    assert!(
        logout.headers["set-cookie"]
            .to_str()
            .unwrap()
            .contains("Max-Age=0")
    );
    let me = |it: &Login| Request::get("/v1/me").header("cookie", &it.cookie);
    assert_eq!(bench.send(me(&login), Body::empty()).await.status, 401);
    assert_eq!(bench.send(me(&other), Body::empty()).await.status, 200);
}

#[tokio::test]
async fn session_of_an_embedders_login_is_a_cookie_like_others() {
    let bench = Bench::over(engine().await);
    let bob = Principal::new(Actor::embedder("bob"), vec![Grant::everywhere(Role::Admin)]);
    let set = bench.access.open_session(bob).unwrap();
    let cookie = set.split(';').next().unwrap().to_owned();
    let me = Request::get("/v1/me").header("cookie", &cookie);
    let me = bench.send(me, Body::empty()).await.json();
    assert_eq!(me["actor"]["name"], "bob");
    let csrf = me["csrf"].as_str().unwrap().to_owned();
    let login = Login { cookie, csrf };
    let without = bench.send(pausing(&login), everything()).await;
    assert_eq!(without.code(), "csrf-token");
    let with = pausing(&login).header("x-recount-csrf", &login.csrf);
    assert_eq!(bench.send(with, everything()).await.status, 200);
}

#[tokio::test]
async fn invalid_token_is_not_saved_by_a_cookie() {
    let bench = Bench::over(engine().await);
    let login = log_in(&bench).await;
    for authorization in ["Bearer rct_x", "Bearer eyJ.e30.", "Basic YTpi"] {
        let me = Request::get("/v1/me").header("cookie", &login.cookie);
        let me = me.header("authorization", authorization);
        assert_eq!(
            bench.send(me, Body::empty()).await.status,
            401,
            "{authorization}"
        );
    }
}

#[tokio::test]
async fn pages_of_other_sites_change_nothing() {
    let bench = Bench::over(engine().await);
    let (login, token) = (log_in(&bench).await, bench.admin());
    let cookie = || pausing(&login).header("x-recount-csrf", &login.csrf);
    let bearer = || posting(&token, "/v1/pause");
    for (name, value, code) in [
        ("origin", "https://attacker.example", "cross-site"),
        ("origin", "http://127.0.0.1:3000", "cross-site"),
        ("origin", "null", "cross-site"),
        ("sec-fetch-site", "cross-site", "cross-site"),
        ("sec-fetch-site", "same-site", "cross-site"),
        ("host", "attacker.example", "wrong-host"),
        ("host", "127.0.0.1.attacker.example:7878", "wrong-host"),
    ] {
        for request in [cookie(), bearer()] {
            let refused = bench.send(request.header(name, value), everything()).await;
            assert_eq!(refused.code(), code, "{name}: {value}");
        }
    }
    assert!(bench.engine.ledger().pauses().await.unwrap().is_empty());
    let own = cookie().header("origin", "http://127.0.0.1:7878");
    assert_eq!(bench.send(own, everything()).await.status, 200);
}

#[tokio::test]
async fn rebound_host_reads_nothing() {
    let world = World::new().await;
    let token = world.bench.admin();
    for path in ["/v1/sessions", "/v1/openapi.json", "/login?token=x"] {
        let request = Request::get(path)
            .header("authorization", format!("Bearer {token}"))
            .header("host", "attacker.example");
        let refused = world.bench.send(request, Body::empty()).await;
        assert_eq!(
            (refused.status.as_u16(), refused.code().as_str()),
            (421, "wrong-host")
        );
    }
}

#[tokio::test]
async fn token_in_a_url_admits_nothing() {
    let bench = Bench::over(engine().await);
    let token = bench.admin();
    for path in [
        format!("/v1/me?token={token}"),
        format!("/v1/me?access_token={token}"),
        format!("/login?token={token}"),
    ] {
        let refused = bench.send(Request::get(&path), Body::empty()).await;
        assert_eq!(refused.status, 401, "{path}");
        assert!(!refused.text.contains(&token));
    }
}
