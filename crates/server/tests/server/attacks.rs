//! Attacks with pages, bodies and credentials. Each is refused, and the journal stays as it was.

use crate::bench::{Bench, posting};
use crate::world::World;
use axum::body::Body;
use axum::http::Request;
use axum::http::request::Builder;

const PAUSE: &str = r#"{"target":"everything","reason":"an attack"}"#;

/// The number of commits of the journal.
pub(crate) async fn commits(bench: &Bench) -> u64 {
    bench.engine.ledger().journal().position().await.unwrap()
}

/// A browser that has logged in.
struct Browser {
    cookie: String,
    csrf: String,
    /// The path of the used link.
    link: String,
}

impl Browser {
    async fn log_in(bench: &Bench) -> Browser {
        let token = bench.access.login_token().unwrap().unwrap();
        let link = format!("/login?token={}", token.expose());
        let opened = bench.send(Request::get(&link), Body::empty()).await;
        let cookie = opened.headers["set-cookie"].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let me = Request::get("/v1/me").header("cookie", &cookie);
        let me = bench.send(me, Body::empty()).await.json();
        Browser {
            csrf: me["csrf"].as_str().unwrap().to_owned(),
            cookie,
            link,
        }
    }

    /// A change of the browser with its token against cross-site requests.
    fn post(&self, path: &str) -> Builder {
        Request::post(path)
            .header("cookie", &self.cookie)
            .header("content-type", "application/json")
            .header("x-recount-csrf", &self.csrf)
    }
}

/// Sends the attacks, and expects the status and code of each. No commit may follow.
async fn expect_refused(bench: &Bench, attacks: Vec<(Builder, String, u16, &str)>) {
    let before = commits(bench).await;
    for (number, (request, body, status, code)) in attacks.into_iter().enumerate() {
        let refused = bench.send(request, Body::from(body)).await;
        assert_eq!(
            (refused.status.as_u16(), refused.code().as_str()),
            (status, code),
            "attack {number}: {}",
            refused.text
        );
    }
    assert_eq!(commits(bench).await, before, "something is on record");
}

#[tokio::test]
async fn page_of_another_site_changes_nothing() {
    let world = World::new().await;
    let browser = Browser::log_in(&world.bench).await;
    let pause = || PAUSE.to_owned();
    let by_form = |content_type: &str| {
        // As a form sends it: with the cookie, and without a header of ours.
        Request::post("/v1/pause")
            .header("cookie", &browser.cookie)
            .header("content-type", content_type)
    };
    let form = || by_form("application/x-www-form-urlencoded");
    let target = || "target=everything".to_owned();
    let mut attacks = vec![
        (
            form().header("sec-fetch-site", "cross-site"),
            target(),
            403,
            "cross-site",
        ),
        (
            form().header("origin", "https://evil.example"),
            target(),
            403,
            "cross-site",
        ),
        // A browser of old times names neither its site nor an origin.
        (by_form("text/plain"), pause(), 403, "csrf-token"),
        (by_form("application/json"), pause(), 403, "csrf-token"),
    ];
    // Of two values, the second one counts, too.
    let cross_site: [&[(&str, &str)]; 8] = [
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("origin", "")],
        &[("origin", "http://localhost:7878")],
        &[("origin", "http://127.0.0.1:3000")],
        &[("sec-fetch-site", "same-site")],
        &[("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")],
        &[
            ("origin", "http://127.0.0.1:7878"),
            ("origin", "https://evil.example"),
        ],
    ];
    let wrong_host: [&[(&str, &str)]; 5] = [
        &[("host", "evil.example")],
        &[("host", "127.0.0.1.evil.example:7878")],
        &[("host", "evil@127.0.0.1:7878")],
        &[("host", "127.0.0.1:7878"), ("host", "evil.example")],
        &[
            ("host", "evil.example"),
            ("x-forwarded-host", "127.0.0.1:7878"),
        ],
    ];
    let with = |headers: &[(&str, &str)]| {
        let begin = browser.post("/v1/pause");
        headers
            .iter()
            .fold(begin, |it, (name, value)| it.header(*name, *value))
    };
    attacks.extend(cross_site.map(|it| (with(it), pause(), 403, "cross-site")));
    attacks.extend(wrong_host.map(|it| (with(it), pause(), 421, "wrong-host")));
    expect_refused(&world.bench, attacks).await;
}

#[tokio::test]
async fn unfit_body_changes_nothing() {
    let world = World::new().await;
    let bench = &world.bench;
    let token = bench.admin();
    let bearer = || Request::post("/v1/pause").header("authorization", format!("Bearer {token}"));
    let typed = |content_type: &str| bearer().header("content-type", content_type);
    let calls = format!("/v1/sessions/{}/calls", world.own.session);
    let call = || posting(&token, &calls).header("idempotency-key", "k");
    let deep = format!("{}1{}", r#"{"a":"#.repeat(1000), "}".repeat(1000));
    let pause = || PAUSE.to_owned();
    let attacks = vec![
        (bearer(), pause(), 415, "content-type"),
        (typed("text/plain"), pause(), 415, "content-type"),
        (
            typed("application/json, text/plain"),
            pause(),
            415,
            "content-type",
        ),
        (
            typed("application/vnd.api+json"),
            pause(),
            415,
            "content-type",
        ),
        (
            typed("application/json").header("content-type", "text/plain"),
            pause(),
            415,
            "content-type",
        ),
        (
            call(),
            format!(r#"{{"tool":"refund","args":{deep}}}"#),
            422,
            "too-deep",
        ),
        (typed("application/json"), "[".repeat(1000), 422, "too-deep"),
        (
            call(),
            format!(
                r#"{{"tool":"refund","args":{{"note":"{}"}}}}"#,
                "x".repeat(1 << 20)
            ),
            413,
            "too-large",
        ),
        (
            typed("application/json"),
            r#"{"target":"everything","by":{"name":"root"}}"#.to_owned(),
            422,
            "bad-request",
        ),
        (
            posting(&token, "/v1/pause?cancel_running=true"),
            pause(),
            422,
            "bad-request",
        ),
    ];
    expect_refused(bench, attacks).await;
}

#[tokio::test]
async fn forged_credentials_change_nothing() {
    let world = World::new().await;
    let bench = &world.bench;
    let token = bench.admin();
    let (browser, left) = (Browser::log_in(bench).await, Browser::log_in(bench).await);
    let logout = bench.send(left.post("/v1/logout"), Body::empty()).await;
    assert_eq!(logout.status, 204);
    let (name, value) = browser.cookie.split_once('=').unwrap();
    let used = browser.link.split_once('=').unwrap().1.to_owned();
    let pause = || PAUSE.to_owned();
    let json = || Request::post("/v1/pause").header("content-type", "application/json");
    let bearer = |text: &str| json().header("authorization", format!("Bearer {text}"));
    let cookie = |text: String| json().header("cookie", text).header("x-recount-csrf", "x");
    let unknown = |request: Builder| (request, pause(), 401, "unauthenticated");
    let attacks = vec![
        // The cookie after the logout, and the link after the login.
        unknown(left.post("/v1/pause")),
        (
            Request::get(&browser.link),
            String::new(),
            401,
            "unauthenticated",
        ),
        unknown(bearer(&used)),
        // One kind of secret in the place of another.
        unknown(bearer(value)),
        unknown(bearer(&browser.csrf)),
        unknown(cookie(format!("{name}={}", browser.csrf))),
        unknown(cookie(format!("{name}={token}"))),
        unknown(cookie(format!("{name}="))),
        // A token in a URL, twice, of another kind, cut, and beside a valid cookie.
        (
            Request::get(format!("/v1/me?access_token={token}")),
            String::new(),
            401,
            "unauthenticated",
        ),
        unknown(bearer(&token).header("authorization", format!("Bearer {token}"))),
        unknown(json().header("authorization", format!("Basic {token}"))),
        unknown(bearer(token.get(..token.len() - 1).unwrap())),
        unknown(
            browser
                .post("/v1/pause")
                .header("authorization", "Bearer rct_x"),
        ),
        // A JWT without a signature, of no issuer that the service knows.
        unknown(bearer("eyJhbGciOiJub25lIn0.eyJzdWIiOiJyb290In0.")),
        // Headers that only a trusted proxy may send.
        unknown(
            json()
                .header("x-forwarded-user", "root")
                .header("x-remote-user", "root")
                .header("forwarded", "for=127.0.0.1"),
        ),
    ];
    expect_refused(bench, attacks).await;
    // The browser that did not log out is still logged in.
    let pause = bench
        .send(browser.post("/v1/pause"), Body::from(PAUSE))
        .await;
    assert_eq!(pause.status, 200, "{}", pause.text);
}
