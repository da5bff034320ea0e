//! Bodies that no handler reads: the connection stays usable, or the response says that it closes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::{Body, Bytes};
use axum::http::request::Builder;
use axum::http::{Request, Version};
use futures_util::StreamExt;
use futures_util::stream::{iter, pending};
use recount_server::Role;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::bench::{Bench, Reply, posting};
use crate::world::{World, engine};

const PART: usize = 8 << 10;

/// A body of so many parts, and the number of those that were read; one more at the end.
fn body(parts: usize) -> (Body, Arc<AtomicUsize>) {
    let read = Arc::<AtomicUsize>::default();
    let count = read.clone();
    let parts = (0..=parts).filter_map(move |number| {
        count.fetch_add(1, Ordering::Relaxed);
        (number < parts).then(|| Ok::<_, std::io::Error>(Bytes::from(vec![b' '; PART])))
    });
    (Body::from_stream(iter(parts)), read)
}

fn is_closing(reply: &Reply) -> bool {
    reply
        .headers
        .get("connection")
        .is_some_and(|it| it == "close")
}

#[tokio::test]
async fn rest_of_a_small_body_is_read_on_every_route() {
    let world = World::new().await;
    let client = world.tenant(Role::Client);
    let verify = format!("/v1/sessions/{}/verify", world.own.session);
    let plain = |path: &str| Request::post(path).header("content-type", "text/plain");
    for (status, request) in [
        (422, posting(&client, &verify)),
        (401, posting("rct_guess", &verify)),
        (
            403,
            plain("/v1/pause").header("sec-fetch-site", "cross-site"),
        ),
        (404, plain("/nowhere")),
        (405, plain("/healthz")),
        (422, posting(&client, "/v1/sessions?a=b")),
    ] {
        let (body, read) = body(8);
        let refused = world.bench.send(request, body).await;
        assert_eq!(refused.status, status, "{}", refused.text);
        assert!(!is_closing(&refused), "{status}");
        assert_eq!(read.load(Ordering::Relaxed), 9, "{status}");
    }
}

#[tokio::test]
async fn long_body_is_not_read_and_closes_the_connection() {
    let bench = Bench::over(engine().await);
    let guess = || posting("rct_guess", "/v1/pause");
    let send = async |request: Builder| {
        let (body, read) = body(100);
        let refused = bench.send(request, body).await;
        assert_eq!(refused.status, 401);
        (is_closing(&refused), read.load(Ordering::Relaxed))
    };
    assert_eq!(send(guess()).await, (true, 9));
    // The client has not begun to send it.
    assert_eq!(
        send(guess().header("expect", "100-continue")).await,
        (true, 0)
    );
    // The connection of HTTP/2 has further streams.
    assert_eq!(send(guess().version(Version::HTTP_2)).await, (false, 0));
}

/// The time stands still, and goes to the next deadline when every task waits.
#[tokio::test(start_paused = true)]
async fn slow_rest_closes_the_connection() {
    let bench = Bench::over(engine().await);
    let begun = tokio::time::Instant::now();
    let first = iter([Ok::<_, std::io::Error>(Bytes::from("{"))]);
    let body = Body::from_stream(first.chain(pending()));
    let refused = bench.send(posting("rct_guess", "/v1/pause"), body).await;
    assert_eq!(refused.status, 401);
    assert!(is_closing(&refused));
    assert_eq!(begun.elapsed().as_secs(), 30);
}

#[tokio::test]
async fn check_takes_no_body_or_an_empty_object() {
    let world = World::new().await;
    let admin = world.bench.admin();
    for check in ["verify", "replay"] {
        let path = format!("/v1/sessions/{}/{check}", world.own.session);
        let untyped = Request::post(&path).header("authorization", format!("Bearer {admin}"));
        let checked = world.bench.send(untyped, Body::empty()).await;
        assert_eq!(checked.status, 200, "{}", checked.text);
        for (body, status) in [("", 200), ("{}", 200), (r#"{"at":1}"#, 422), ("[]", 422)] {
            let checked = world
                .bench
                .send(posting(&admin, &path), Body::from(body))
                .await;
            assert_eq!(checked.status, status, "{body}: {}", checked.text);
        }
    }
}

/// A response, read from a connection up to the end of its body.
async fn response(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    loop {
        let mut part = [0; 4096];
        let length = stream.read(&mut part).await.unwrap();
        text.push_str(std::str::from_utf8(&part[..length]).unwrap());
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        let mut lines = head.lines();
        let expected = lines.find_map(|it| it.strip_prefix("content-length: "));
        if length == 0 || expected.is_some_and(|it| it.parse() == Ok(body.len())) {
            return text;
        }
    }
}

/// The number of requests for verifications that a handler has answered.
async fn answered(bench: &Bench, admin: &str) -> usize {
    let metrics = bench.get(admin, "/metrics").await.text;
    let is_verify = |it: &&str| it.starts_with("recount_http_") && it.contains("/verify");
    metrics.lines().filter(is_verify).count()
}

#[tokio::test]
async fn next_request_of_the_connection_is_answered() {
    let world = World::new().await;
    let (bench, admin) = (&world.bench, world.bench.admin());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = bench.service.clone().router();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let mut stream = TcpStream::connect(address).await.unwrap();
    let session = world.own.session;
    let head = format!(
        "POST /v1/sessions/{session}/verify HTTP/1.1\r\nHost: {address}\r\n\
         Authorization: Bearer rct_guess\r\nContent-Length: 2\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // The request is refused before its body comes.
    while answered(bench, &admin).await == 0 {
        tokio::task::yield_now().await;
    }
    stream.write_all(b"{}").await.unwrap();
    assert!(response(&mut stream).await.starts_with("HTTP/1.1 401"));
    let next = format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(next.as_bytes()).await.unwrap();
    assert!(response(&mut stream).await.starts_with("HTTP/1.1 200"));
}
