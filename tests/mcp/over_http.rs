//! A server over streamable HTTP on this machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Redirect};
use recount::mcp::McpServer;
use recount::prelude::*;
use rmcp::transport::StreamableHttpService;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

use crate::server::Server;

const TOKEN: &str = "the-token-of-ada";

/// Starts a server that requires a token. Returns its URL and the number of requests with the
/// token.
async fn served() -> (String, Arc<AtomicUsize>) {
    let service = StreamableHttpService::new(
        || Ok(Server::new(json!({}))),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let knew = Arc::<AtomicUsize>::default();
    let counted = knew.clone();
    let guarded = from_fn(move |request: Request, next: Next| {
        let counted = counted.clone();
        async move {
            let header = request.headers().get("authorization");
            if header.is_none_or(|it| it != format!("Bearer {TOKEN}").as_str()) {
                let said = header.map_or("nothing", |it| it.to_str().unwrap());
                return (StatusCode::UNAUTHORIZED, format!("not {said}")).into_response();
            }
            counted.fetch_add(1, Ordering::SeqCst);
            next.run(request).await
        }
    });
    let app = Router::new().nest_service("/mcp", service).layer(guarded);
    (listening(app).await, knew)
}

/// Starts a server that requires no token, and returns its URL.
pub(crate) async fn open_to_all(server: Server) -> String {
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let url = listening(Router::new().nest_service("/mcp", service)).await;
    format!("{url}/mcp")
}

pub(crate) async fn listening(app: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    format!("http://{address}")
}

#[tokio::test]
async fn tools_are_listed_and_called_with_the_token() {
    let (url, knew) = served().await;
    let server = McpServer::http(format!("{url}/mcp"))
        .bearer(TOKEN)
        .prefix("far_");
    let mut tools = ToolDispatcher::new();
    tools.register(T::mcp(server).await.unwrap()).unwrap();
    let told = tools.call_function("far_echo", json!({"a": 1})).await;
    assert_eq!(told, Ok(json!({"structuredContent": {"a": 1}})));
    let asked = tools.call_function("far_ask", json!({})).await.unwrap();
    assert_eq!(asked["structuredContent"]["action"], "decline");
    assert!(knew.load(Ordering::SeqCst) >= 4);
}

#[tokio::test]
async fn a_refused_token_is_told_and_not_shown() {
    let (url, _) = served().await;
    let server = McpServer::http(format!("{url}/mcp?key=k-123456")).bearer("geheim-geheim");
    let told = T::mcp(server).await.unwrap_err().to_string();
    assert!(
        told.starts_with("cannot connect to the MCP server \"127.0.0.1:"),
        "{told}"
    );
    assert!(
        !told.contains("geheim") && !told.contains("123456"),
        "{told}"
    );
}

#[tokio::test]
async fn redirect_to_another_host_is_not_followed() {
    let asked = Arc::<AtomicUsize>::default();
    let counted = asked.clone();
    let elsewhere = Router::new().fallback(move || async move {
        counted.fetch_add(1, Ordering::SeqCst);
        StatusCode::NOT_FOUND
    });
    let elsewhere = listening(elsewhere).await;
    let away = Router::new().fallback(move || async move {
        Redirect::temporary(&format!("{elsewhere}/mcp")).into_response()
    });
    let url = listening(away).await;
    let server = McpServer::http(format!("{url}/mcp")).header("x-key", "for the first host only");
    assert!(T::mcp(server).await.is_err());
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}
