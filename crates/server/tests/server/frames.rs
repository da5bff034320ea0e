//! The frame of the pages: login, forms, headers, assets.

use axum::body::Body;
use axum::http::Request;
use recount::session::Timestamp;
use recount_server::{Grant, NewToken, Role};

use crate::bench::Bench;
use crate::page::{Browser, form, hidden, post};
use crate::visitor::Visitor;
use crate::world::{World, engine};

#[tokio::test]
async fn page_without_login_leads_back_after_it() {
    let world = World::new().await;
    let card = format!("/sessions/{}/calls/{}", world.own.session, world.own.ended);
    let asked = world.bench.send(Request::get(&card), Body::empty()).await;
    assert_eq!(asked.status, 401);
    assert!(asked.text.contains("<h1>Log in</h1>"), "{}", asked.text);
    let next = hidden(&asked.text, "next");
    assert_eq!(format!("/{next}"), card);
    assert!(asked.text.contains(r#"action="../../../login/token""#));
    let token = world.tenant(Role::Viewer);
    let fields = form(&[("token", &token), ("next", &next)]);
    let opened = world
        .bench
        .send(post("/login/token"), Body::from(fields))
        .await;
    assert_eq!(opened.status, 303, "{}", opened.text);
    assert_eq!(opened.headers["location"], format!("../{next}"));
    let cookie = opened.headers["set-cookie"].to_str().unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let page = Request::get(&card).header("cookie", cookie);
    assert_eq!(world.bench.send(page, Body::empty()).await.status, 200);
}

#[tokio::test]
async fn login_leads_to_no_other_site() {
    let bench = Bench::over(engine().await);
    let token = bench.admin();
    for next in [
        "https://attacker.example",
        "//attacker.example",
        "/\\x",
        "javascript:x",
    ] {
        let fields = form(&[("token", &token), ("next", next)]);
        let opened = bench.send(post("/login/token"), Body::from(fields)).await;
        assert_eq!(opened.headers["location"], "../inbox", "{next}");
        let link = bench.access.login_token().unwrap().unwrap();
        let link = form(&[("token", link.expose()), ("next", next)]);
        let opened = Request::get(format!("/login?{link}"));
        let opened = bench.send(opened, Body::empty()).await;
        assert_eq!(
            (opened.status.as_u16(), &opened.headers["location"]),
            (303, &"./inbox".parse().unwrap())
        );
    }
}

#[tokio::test]
async fn login_with_a_token_ends_with_it() {
    let bench = Bench::over(engine().await);
    let viewer = NewToken::new("eve").grant(Grant::everywhere(Role::Viewer));
    let store = bench.access.tokens().unwrap();
    let (token, info) = store.create(viewer, Timestamp(1)).unwrap();
    let browser = Browser::with(&bench, token.expose()).await;
    assert_eq!(browser.open("/inbox").await.status, 200);
    store.revoke(&info.id, Timestamp(2)).unwrap();
    assert_eq!(browser.open("/inbox").await.status, 401);
    let fields = form(&[("token", token.expose())]);
    let refused = bench.send(post("/login/token"), Body::from(fields)).await;
    assert_eq!(refused.status, 401);
    assert!(
        refused.text.contains("unknown, revoked or expired"),
        "{}",
        refused.text
    );
    assert!(!refused.text.contains(token.expose()));
}

#[tokio::test]
async fn form_needs_its_token_and_its_origin() {
    let bench = Bench::over(engine().await);
    let browser = Browser::with(&bench, &bench.admin()).await;
    let inbox = browser.open("/inbox").await.text;
    let csrf = hidden(&inbox, "csrf");
    for wrong in ["", "csrf=", "csrf=x", &format!("csrf={csrf}&csrf={csrf}")] {
        let request = post("/logout").header("cookie", &browser.cookie);
        let refused = bench.send(request, Body::from(wrong.to_owned())).await;
        assert_eq!(refused.status, 403, "{wrong}");
        assert!(refused.text.contains("csrf-token"), "{}", refused.text);
    }
    let right = || Body::from(format!("csrf={csrf}"));
    let plain = || {
        Request::post("/logout")
            .header("cookie", &browser.cookie)
            .header("content-type", "application/x-www-form-urlencoded")
    };
    for (name, value) in [
        ("x-none", ""),
        ("origin", "null"),
        ("origin", "https://attacker.example"),
        ("sec-fetch-site", "cross-site"),
    ] {
        let refused = bench.send(plain().header(name, value), right()).await;
        assert_eq!(refused.status, 403, "{name}: {value}");
        assert!(refused.text.contains("cross-site"), "{}", refused.text);
    }
    assert_eq!(browser.open("/inbox").await.status, 200);
    let ended = browser.send("/logout", &[("csrf", &csrf)]).await;
    assert_eq!(
        (ended.status.as_u16(), &ended.headers["location"]),
        (303, &"./login".parse().unwrap())
    );
    assert_eq!(browser.open("/inbox").await.status, 401);
}

#[tokio::test]
async fn page_runs_nothing_but_its_own_script() {
    let bench = Bench::over(engine().await);
    let browser = Browser::with(&bench, &bench.admin()).await;
    let page = browser.open("/inbox").await;
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    for rule in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ] {
        assert!(policy.contains(rule), "{rule}: {policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.headers["cache-control"], "no-store");
    // Without a referrer, a browser without a script would name no origin with a form.
    assert_eq!(page.headers["referrer-policy"], "same-origin");
    assert!(!page.text.contains(" style=") && !page.text.contains(" onclick"));
}

#[tokio::test]
async fn asset_is_kept_under_the_hash_of_its_content() {
    let bench = Bench::over(engine().await);
    let page = bench.send(Request::get("/login"), Body::empty()).await;
    assert_eq!(page.status, 200);
    for (mark, kind) in [
        ("href=\"./assets/page-", "text/css"),
        ("src=\"./assets/page-", "text/javascript"),
        ("href=\"./assets/icon-", "image/svg+xml"),
    ] {
        let (_, rest) = page.text.split_once(mark).unwrap();
        let start = mark.split_once("./").unwrap().1;
        let path = format!("/{start}{}", rest.split('"').next().unwrap());
        let asset = bench.send(Request::get(&path), Body::empty()).await;
        assert_eq!(asset.status, 200, "{path}");
        assert_eq!(asset.headers["content-type"], kind);
        assert_eq!(asset.headers["x-content-type-options"], "nosniff");
        let kept = asset.headers["cache-control"].to_str().unwrap();
        assert!(kept.contains("immutable"), "{kept}");
    }
    let other = bench.send(
        Request::get("/assets/page-0000000000000000.css"),
        Body::empty(),
    );
    assert_eq!(other.await.status, 404);
}

#[tokio::test]
async fn unknown_path_is_a_page_for_a_browser() {
    let bench = Bench::over(engine().await);
    let asked = Request::get("/nothing").header("accept", "text/html,*/*");
    let page = bench.send(asked, Body::empty()).await;
    assert_eq!(page.status, 404);
    assert!(page.text.starts_with("<!DOCTYPE html>"), "{}", page.text);
    let program = bench.send(Request::get("/nothing"), Body::empty()).await;
    assert_eq!(program.code(), "not-found");
    let api = Request::get("/v1/nothing").header("accept", "text/html");
    assert_eq!(bench.send(api, Body::empty()).await.code(), "not-found");
}

#[tokio::test]
async fn root_leads_to_the_inbox_below_a_prefix() {
    use tower::ServiceExt;
    let bench = Bench::over(engine().await);
    let app = axum::Router::new().nest("/recount", bench.service.clone().router());
    let request = Request::get("/recount")
        .header("host", "localhost")
        .header("authorization", format!("Bearer {}", bench.admin()));
    let request = request.body(Body::empty()).unwrap();
    let reply = app.oneshot(request).await.unwrap();
    assert_eq!(reply.status(), 303);
    // Relative to an address without a slash at its end.
    assert_eq!(reply.headers()["location"], "./recount/inbox");
}

/// Mail gateways and link trackers add parameters to the links of messages.
#[tokio::test]
async fn page_ignores_unknown_parameters() {
    let world = World::new().await;
    let root = Visitor::with(&world.bench, &world.bench.admin());
    let own = &world.own;
    let session = format!("/sessions/{}", own.session);
    for page in [
        "/inbox",
        "/history",
        "/sessions",
        "/audit",
        "/operations",
        "/figures",
        &session,
        &format!("{session}/records/1"),
        &format!("{session}/calls/{}", own.ended),
    ] {
        let reply = root.open(&format!("{page}?utm_source=mail&fbclid=1")).await;
        assert_eq!(reply.status, 200, "{page}: {}", reply.text);
        // A route under `/v1` would refuse it.
        assert!(!reply.text.contains("utm_source"), "{page}: {}", reply.text);
    }
    let login = root.open("/login?next=inbox&utm_source=mail").await;
    assert_eq!(login.status, 200, "{}", login.text);
    let refused = root.open("/v1/sessions?utm_source=mail").await;
    assert_eq!(refused.status, 422);
}
