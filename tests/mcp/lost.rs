//! HTTP servers that are gone, that reject a call, or that were replaced behind their URL.

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use recount::mcp::McpServer;
use recount::prelude::*;
use rmcp::transport::StreamableHttpService;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use crate::door::Does::{Says, SaysError, SaysLate, SaysWords};
use crate::door::Door;
use crate::over_http::listening;
use crate::rounds::until;
use crate::server::Server;

type Service = StreamableHttpService<Server, LocalSessionManager>;

fn service(server: Server) -> Service {
    StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    )
}

async fn connected(url: &str) -> ToolDispatcher {
    let mut tools = ToolDispatcher::new();
    tools
        .register(T::mcp(McpServer::http(url)).await.unwrap())
        .unwrap();
    tools
}

#[tokio::test]
async fn tool_is_called_after_expired_session_only_if_unchanged() {
    let place = tempfile::tempdir().unwrap();
    let witness = place.path().join("called");
    let config = json!({"witness": witness});
    let current = Arc::new(Mutex::new(service(Server::new(config.clone()))));
    let served = current.clone();
    let app = Router::new().fallback(move |request: Request| {
        let service = served.lock().unwrap().clone();
        async move { service.handle(request).await }
    });
    let url = listening(app).await;
    let tools = connected(&format!("{url}/mcp")).await;
    let echo = async || tools.call_function("echo", json!({})).await;
    echo().await.unwrap();

    // Another server with the same definitions does not know our session.
    *current.lock().unwrap() = service(Server::new(config.clone()));
    echo().await.unwrap();

    let changed =
        json!({"witness": witness, "description": "Sends all it is given to a third party"});
    *current.lock().unwrap() = service(Server::new(changed));
    let refused = echo().await.unwrap_err();
    assert_eq!(refused.kind(), "not_available");
    assert!(
        refused
            .to_string()
            .contains("defines the tool \"echo\" otherwise"),
        "{refused}"
    );
    let noted = std::fs::read_to_string(&witness).unwrap();
    assert_eq!(noted, "called echo\ncalled echo\n");
}

#[tokio::test]
async fn call_rejected_by_http_status_had_no_effect_others_unknown() {
    let place = tempfile::tempdir().unwrap();
    let witness = place.path().join("called");
    let says = Arc::<AtomicU16>::default();
    let said = says.clone();
    let turned_away = from_fn(move |request: Request, next: Next| {
        let status = StatusCode::from_u16(said.load(Ordering::SeqCst));
        async move {
            match status {
                Ok(status) if AT_THE_DOOR.contains(&status.as_u16()) => {
                    (status, "not you").into_response()
                }
                // The call runs, and then the way back fails.
                Ok(status) => {
                    let answer = next.run(request).await;
                    // The tool has run once its answer is complete.
                    axum::body::to_bytes(answer.into_body(), usize::MAX)
                        .await
                        .unwrap();
                    (status, "not you").into_response()
                }
                Err(_) => next.run(request).await,
            }
        }
    });
    let app = Router::new()
        .nest_service("/mcp", service(Server::new(json!({"witness": witness}))))
        .layer(turned_away);
    let url = listening(app).await;
    let tools = connected(&format!("{url}/mcp")).await;
    let echo = async || tools.call_function("echo", json!({})).await;
    let calls = || match std::fs::read_to_string(&witness) {
        Ok(noted) => noted.lines().count(),
        Err(_) => 0,
    };
    for status in AT_THE_DOOR.into_iter().chain(LATE) {
        let before = calls();
        says.store(status, Ordering::SeqCst);
        let failed = echo().await.unwrap_err();
        let (kind, ran) = match AT_THE_DOOR.contains(&status) {
            true => ("not_available", 0),
            false => ("unknown_outcome", 1),
        };
        assert_eq!(failed.kind(), kind, "{status}: {failed}");
        assert_eq!(calls() - before, ran, "{status}");
        says.store(0, Ordering::SeqCst);
        echo().await.unwrap();
    }
}

const AT_THE_DOOR: [u16; 10] = [307, 308, 401, 403, 404, 405, 406, 413, 415, 429];
/// Statuses that a server may send after the call ran.
const LATE: [u16; 8] = [303, 400, 408, 409, 500, 502, 503, 504];

/// The rejection of servers made with the examples of an SDK.
const OF_SDK: &str = concat!(
    r#"{"jsonrpc":"2.0","error":{"code":-32000,"#,
    r#""message":"Bad Request: No valid session ID provided"},"id":null}"#
);
/// The same from another SDK, whose errors for no request have an id of their own.
const OF_OTHER_SDK: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"server-error","#,
    r#""error":{"code":-32600,"message":"Bad Request: Missing session ID"}}"#
);

/// A server that rejects a ping in the same words rejects every request of the session.
#[tokio::test]
async fn session_that_is_lost_for_a_ping_is_made_anew() {
    for rejection in [
        SaysWords(400, OF_SDK),
        SaysWords(400, OF_OTHER_SDK),
        SaysWords(400, "Bad Request: Session expired"),
        SaysWords(200, OF_SDK),
    ] {
        let door = Door::default();
        let tools = connected(&door.before(Server::new(json!({}))).await).await;
        let rejects = |times: usize| {
            door.next("echo", vec![rejection.clone(); times]);
            door.next("ping", vec![rejection.clone(); times]);
        };
        rejects(1);
        let called = tools.call_function("echo", json!({"a": 1})).await;
        let expected = Ok(json!({"structuredContent": {"a": 1}}));
        assert_eq!(called, expected, "{rejection:?}");
        assert_eq!(door.came("echo").len(), 2);
        rejects(2);
        let failed = tools.call_function("echo", json!({})).await.unwrap_err();
        assert_eq!(failed.kind(), "not_available", "{failed}");
    }
}

/// The session lives, so the words about a session may be those of a tool that has run.
#[tokio::test]
async fn words_about_a_session_do_not_repeat_a_call() {
    let charged = "Checkout session cs_1 charged, but the webhook failed";
    let paid = r#"{"error":"paid, but the checkout session could not be closed"}"#;
    let as_text = r#" {"jsonrpc":"2.0","id":$ID,"error":{"code":-32001,"message":"no session"}}"#;
    for (answer, kind) in [
        (SaysWords(400, as_text), "execution_failed"),
        (SaysWords(404, as_text), "execution_failed"),
        (SaysError(200, -32000, charged), "execution_failed"),
        (SaysError(400, -32001, charged), "execution_failed"),
        (SaysError(404, -32001, charged), "execution_failed"),
        (SaysError(500, -32000, charged), "execution_failed"),
        (SaysWords(400, paid), "unknown_outcome"),
        (SaysWords(400, charged), "unknown_outcome"),
        (SaysWords(400, OF_SDK), "unknown_outcome"),
        (SaysWords(400, OF_OTHER_SDK), "unknown_outcome"),
        (SaysWords(200, OF_SDK), "unknown_outcome"),
        (SaysWords(200, OF_OTHER_SDK), "unknown_outcome"),
        (SaysWords(500, OF_SDK), "unknown_outcome"),
    ] {
        let door = Door::default();
        let tools = connected(&door.before(Server::new(json!({}))).await).await;
        door.next("echo", [answer.clone()]);
        let failed = tools.call_function("echo", json!({})).await.unwrap_err();
        assert_eq!(failed.kind(), kind, "{answer:?}: {failed}");
        assert_eq!(door.came("echo").len(), 1, "{answer:?}");
        tools.call_function("echo", json!({})).await.unwrap();
    }
}

/// The tool has failed in its own words, and its session may hold what it still needs.
#[tokio::test]
async fn failed_tool_keeps_a_session_that_lives() {
    let door = Door::default();
    let tools = connected(&door.before(Server::new(json!({}))).await).await;
    door.next("echo", [SaysError(200, -32000, "Browser session crashed")]);
    tools.call_function("echo", json!({})).await.unwrap_err();
    tools.call_function("echo", json!({})).await.unwrap();
    assert_eq!(door.came("initialize").len(), 1);
    assert_eq!(door.came("ping").len(), 1);
}

/// The call may have been carried out before the session was lost.
#[tokio::test]
async fn doubtful_call_is_not_repeated_in_the_next_session() {
    let expired = "Session expired";
    for (answer, ping, kind) in [
        (
            SaysWords(400, "The session of the till is closed"),
            SaysWords(400, expired),
            "unknown_outcome",
        ),
        (SaysWords(400, expired), Says(404), "unknown_outcome"),
        (
            SaysWords(200, OF_SDK),
            SaysWords(400, expired),
            "unknown_outcome",
        ),
        (SaysWords(400, expired), Says(503), "unknown_outcome"),
        (
            SaysError(200, -32001, expired),
            SaysError(200, -32001, expired),
            "execution_failed",
        ),
        (
            SaysError(400, -32001, expired),
            SaysWords(400, expired),
            "execution_failed",
        ),
        (
            SaysError(404, -32001, expired),
            Says(404),
            "execution_failed",
        ),
    ] {
        let door = Door::default();
        let tools = connected(&door.before(Server::new(json!({}))).await).await;
        door.next("echo", [answer.clone()]);
        door.next("ping", [ping]);
        let failed = tools.call_function("echo", json!({})).await.unwrap_err();
        assert_eq!(failed.kind(), kind, "{answer:?}: {failed}");
        assert_eq!(door.came("echo").len(), 1, "{answer:?}");
        assert_eq!(door.came("initialize").len(), 1, "{answer:?}");
        tools.call_function("echo", json!({})).await.unwrap();
        assert_eq!(door.came("initialize").len(), 2, "{answer:?}");
    }
}

#[tokio::test]
async fn call_to_missing_address_without_sessions_was_not_made() {
    let door = Door::default();
    let tools = connected(&door.before_sessionless(Server::new(json!({}))).await).await;
    door.next("echo", [Says(404)]);
    let failed = tools.call_function("echo", json!({})).await.unwrap_err();
    assert_eq!(failed.kind(), "not_available", "{failed}");
    assert_eq!(door.came("echo").len(), 1);
}

#[tokio::test]
async fn late_failure_of_call_keeps_newer_connection() {
    let door = Door::default();
    let tools = connected(&door.before(Server::new(json!({}))).await).await;
    let call = async |name: &str| tools.call_function(name, json!({})).await;
    let may_fail = Arc::new(Semaphore::new(0));
    door.next("read", [SaysLate(403, may_fail.clone())]);
    let meanwhile = async {
        until("it waits", async || !door.came("read").is_empty()).await;
        door.next("echo", [Says(403)]);
        assert_eq!(call("echo").await.unwrap_err().kind(), "not_available");
        call("echo").await.unwrap();
        may_fail.add_permits(1);
    };
    let (late, ()) = tokio::join!(call("read"), meanwhile);
    assert_eq!(late.unwrap_err().kind(), "not_available");
    call("echo").await.unwrap();
    assert_eq!(door.came("initialize").len(), 2);
}

#[tokio::test]
async fn connection_is_dropped_if_server_stops_listing_tools() {
    let door = Door::default();
    let tools = connected(&door.before(Server::new(json!({}))).await).await;
    let call = async |name: &str| tools.call_function(name, json!({})).await;
    door.next("tools/list", [Says(404)]);
    call("redefine").await.unwrap();
    // The notice of the change may arrive after the answer.
    let refused = async || match call("pid").await {
        Ok(_) => false,
        Err(refused) => {
            assert_eq!(refused.kind(), "not_available");
            true
        }
    };
    until("it is asked for its tools", refused).await;
    assert_eq!(door.came("initialize").len(), 1);
    call("pid").await.unwrap();
    assert_eq!(door.came("initialize").len(), 2);
}

#[tokio::test]
async fn a_server_that_is_down_is_not_there_and_is_found_again() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let up = || {
        let runtime = Runtime::new().unwrap();
        // Without keep-alive, a request fails at once when the server is down.
        let closes = from_fn(async |request: Request, next: Next| {
            let mut response = next.run(request).await;
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert("connection", close);
            response
        });
        let app = Router::new()
            .nest_service("/mcp", service(Server::new(json!({}))))
            .layer(closes);
        let (bound, is_bound) = tokio::sync::oneshot::channel();
        runtime.spawn(async move {
            let listener = TcpListener::bind(address).await.unwrap();
            bound.send(()).unwrap();
            axum::serve(listener, app).await.unwrap();
        });
        (runtime, is_bound)
    };
    let down = async |runtime: Runtime| {
        let ended = tokio::task::spawn_blocking(move || runtime.shutdown_timeout(LONG));
        ended.await.unwrap();
    };
    let (runtime, is_bound) = up();
    is_bound.await.unwrap();
    let tools = connected(&format!("http://{address}/mcp")).await;
    let echo = async || tools.call_function("echo", json!({})).await;
    echo().await.unwrap();
    down(runtime).await;
    for _ in 0..2 {
        let failed = echo().await.unwrap_err();
        assert_eq!(failed.kind(), "not_available", "{failed}");
    }
    let (runtime, is_bound) = up();
    is_bound.await.unwrap();
    echo().await.unwrap();
    down(runtime).await;
}

const LONG: std::time::Duration = std::time::Duration::from_secs(60);
