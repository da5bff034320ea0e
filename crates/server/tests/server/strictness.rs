//! Requests that the service refuses to read, and that have no effect.

use axum::body::{Body, Bytes};
use axum::http::Request;

use crate::bench::{Bench, posting};
use crate::world::{World, engine};

#[tokio::test]
async fn unfit_bodies_have_no_effect() {
    let bench = Bench::over(engine().await);
    let token = bench.admin();
    let deep = format!(
        r#"{{"target":{}1{}}}"#,
        r#"{"a":"#.repeat(1000),
        "}".repeat(1000)
    );
    let large = format!(
        r#"{{"target":"everything","reason":"{}"}}"#,
        "x".repeat(100 << 10)
    );
    for (body, code) in [
        ("", "not-json"),
        ("{", "not-json"),
        (r#"["everything"]"#, "bad-request"),
        (
            r#"{"target":"everything","target":"everything"}"#,
            "not-json",
        ),
        (r#"{"target":"everything","as":"root"}"#, "bad-request"),
        (r#"{"target":"nothing"}"#, "bad-request"),
        (r#"{"target":"everything"} {}"#, "not-json"),
        (deep.as_str(), "too-deep"),
        (large.as_str(), "too-large"),
    ] {
        let body = Body::from(body.to_owned());
        let refused = bench.send(posting(&token, "/v1/pause"), body).await;
        assert_eq!(refused.code(), code, "{}", refused.text);
    }
    assert!(bench.engine.ledger().pauses().await.unwrap().is_empty());
}

#[tokio::test]
async fn other_content_types_are_refused() {
    let world = World::new().await;
    let bench = &world.bench;
    let token = bench.admin();
    for content_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-16",
    ] {
        let request = Request::post("/v1/pause")
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", content_type);
        let body = Body::from(r#"{"target":"everything"}"#);
        let refused = bench.send(request, body).await;
        assert_eq!(
            (refused.status.as_u16(), refused.code().as_str()),
            (415, "content-type")
        );
        // The body of a denial is optional, but a page of another site can send such a one.
        for body in ["", r#"{"reason":"x"}"#] {
            let denial = format!("/v1/sessions/{}/deny-all", world.own.session);
            let denial = Request::post(denial)
                .header("authorization", format!("Bearer {token}"))
                .header("content-type", content_type);
            let refused = bench.send(denial, Body::from(body)).await;
            assert_eq!(refused.code(), "content-type", "{body}");
        }
    }
    assert!(bench.engine.ledger().pauses().await.unwrap().is_empty());
}

/// 100 MB that are sent in pieces, of which the service reads only as many as its limit allows.
#[tokio::test]
async fn endless_body_is_not_read_to_its_end() {
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll};

    /// A body that counts its pieces.
    struct Pieces(Arc<AtomicUsize>);

    impl axum::body::HttpBody for Pieces {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
            let sent = self.0.fetch_add(1, Ordering::Relaxed);
            let piece = Bytes::from(vec![b' '; 10 << 10]);
            Poll::Ready((sent < 10_000).then(|| Ok(http_body::Frame::data(piece))))
        }
    }

    let bench = Bench::over(engine().await);
    let (token, sent) = (bench.admin(), Arc::new(AtomicUsize::new(0)));
    for key in [None, Some("k")] {
        sent.store(0, Ordering::Relaxed);
        let mut request = posting(&token, "/v1/pause");
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let refused = bench.send(request, Body::new(Pieces(sent.clone()))).await;
        assert_eq!(
            (refused.status.as_u16(), refused.code().as_str()),
            (413, "too-large")
        );
        // Up to the limit of 64 KiB, and as much again to keep the connection.
        assert!(
            sent.load(Ordering::Relaxed) < 20,
            "{sent:?} pieces were read"
        );
    }
}

#[tokio::test]
async fn unfit_ids_and_parameters_are_named() {
    let world = World::new().await;
    let (bench, token) = (&world.bench, world.bench.admin());
    let session = world.own.session;
    for (path, status, code) in [
        ("/v1/sessions/x".to_owned(), 422, "not-an-id"),
        (
            "/v1/sessions/00000000-0000-0000-0000-000000000000".to_owned(),
            404,
            "unknown-session",
        ),
        (
            format!("/v1/sessions/{session}/state?at=x"),
            422,
            "bad-request",
        ),
        (
            format!("/v1/sessions/{session}/state?at=9999"),
            404,
            "no-such-record",
        ),
        (
            format!("/v1/sessions/{session}/records?limit=0"),
            422,
            "bad-request",
        ),
        ("/v1/sessions?agnet=support".to_owned(), 422, "bad-request"),
        ("/v1/sessions?state=opened".to_owned(), 422, "bad-request"),
        ("/v1/sessions?since=yesterday".to_owned(), 422, "not-a-time"),
        ("/v1/sessions?cursor=x".to_owned(), 422, "bad-request"),
        ("/v1/pending?label=tenant".to_owned(), 422, "bad-request"),
        ("/v1/nothing".to_owned(), 404, "not-found"),
        ("/v1/pause".to_owned(), 405, "method-not-allowed"),
    ] {
        let refused = bench.get(&token, &path).await;
        assert_eq!(
            (refused.status.as_u16(), refused.code().as_str()),
            (status, code),
            "{path}"
        );
        assert_eq!(refused.headers["content-type"], "application/problem+json");
    }
}

#[tokio::test]
async fn revoked_and_expired_tokens_admit_nothing() {
    use recount::session::Timestamp;
    use recount_server::{Grant, NewToken, Role};
    let bench = Bench::over(engine().await);
    let store = bench.access.tokens().unwrap();
    let new = || NewToken::new("ada").grant(Grant::everywhere(Role::Viewer));
    let (token, info) = store.create(new(), Timestamp(1)).unwrap();
    assert_eq!(bench.get(token.expose(), "/v1/me").await.status, 200);
    store.revoke(&info.id, Timestamp(2)).unwrap();
    let revoked = bench.get(token.expose(), "/v1/me").await;
    assert_eq!(
        (revoked.status.as_u16(), revoked.code().as_str()),
        (401, "unauthenticated")
    );
    assert_eq!(revoked.headers["www-authenticate"], "Bearer");
    let expired = new().expires_at(Timestamp(2));
    let (expired, _) = store.create(expired, Timestamp(1)).unwrap();
    assert_eq!(bench.get(expired.expose(), "/v1/me").await.status, 401);
    assert!(!revoked.text.contains(token.expose()));
}

#[tokio::test]
async fn responses_are_not_cached_or_sniffed() {
    let bench = Bench::over(engine().await);
    for path in ["/v1/me", "/healthz", "/v1/nothing"] {
        let headers = bench.get(&bench.admin(), path).await.headers;
        assert_eq!(headers["cache-control"], "no-store", "{path}");
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(headers["referrer-policy"], "no-referrer", "{path}");
    }
}

#[tokio::test]
async fn router_serves_below_a_prefix() {
    use tower::ServiceExt;
    let bench = Bench::over(engine().await);
    let token = bench.admin();
    let app = axum::Router::new().nest("/recount", bench.service.clone().router());
    let request = Request::get("/recount/v1/me")
        .header("host", "localhost")
        .header("authorization", format!("Bearer {token}"));
    let reply = app
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    assert_eq!(reply.status(), 200);
}
