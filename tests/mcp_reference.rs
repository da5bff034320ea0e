//! The MCP reference servers from the npm registry. They are not part of this repository: `.ci/run`
//! installs them and sets `RECOUNT_MCP_SERVERS` to the directory of their programs. So `cargo test`
//! runs these tests only by name.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use recount::mcp::McpServer;
use recount::prelude::*;

fn program(name: &str) -> String {
    let place = std::env::var("RECOUNT_MCP_SERVERS")
        .expect("RECOUNT_MCP_SERVERS says where the servers are");
    format!("{place}/{name}")
}

async fn connected(server: McpServer) -> ToolDispatcher {
    let mut tools = ToolDispatcher::new();
    tools.register(T::mcp(server).await.unwrap()).unwrap();
    tools
}

/// Checks that hold for the server over every transport.
async fn everything_works(tools: &ToolDispatcher) {
    let call = async |name: &str, args: Value| tools.call_function(name, args).await.unwrap();
    let echo = call("echo", json!({"message": "hello"})).await;
    assert_eq!(echo["content"][0]["text"], "Echo: hello");
    let sum = call("get-sum", json!({"a": 2, "b": 3})).await;
    assert_eq!(sum["content"][0]["text"], "The sum of 2 and 3 is 5.");
    let picture = call("get-tiny-image", json!({})).await;
    let blocks = picture["content"].as_array().unwrap();
    assert!(
        blocks
            .iter()
            .any(|it| it["mimeType"] == "image/png" && it["data"].is_string())
    );
    let weather = call("get-structured-content", json!({"location": "Chicago"})).await;
    assert!(
        weather["structuredContent"]["temperature"].is_number(),
        "{weather}"
    );
    assert_eq!(weather.get("content"), None, "{weather}");
    let links = call("get-resource-links", json!({"count": 2})).await;
    let links = links["content"].as_array().unwrap();
    assert_eq!(
        links
            .iter()
            .filter(|it| it["type"] == "resource_link")
            .count(),
        2
    );
    let wrong = tools.call_function("get-sum", json!({"a": "two"})).await;
    assert_eq!(wrong.unwrap_err().kind(), "invalid_args");
    let late = tools
        .call_function_with_timeout(
            "trigger-long-running-operation",
            json!({"duration": 600}),
            Duration::from_millis(50),
        )
        .await;
    assert_eq!(late.unwrap_err().kind(), "timeout");
    call("echo", json!({"message": "still there"})).await;
}

#[tokio::test]
async fn everything_over_standard_input_and_output() {
    let server = McpServer::stdio(program("mcp-server-everything"), ["stdio"])
        .env("SECRET", "geheim-geheim");
    let tools = connected(server).await;
    everything_works(&tools).await;
    let env = tools
        .call_function("get-env", json!({}))
        .await
        .unwrap()
        .to_string();
    assert!(env.contains("SECRET") && env.contains("[hidden]"), "{env}");
    assert!(
        !env.contains("geheim") && !env.contains("CARGO_MANIFEST_DIR"),
        "{env}"
    );
}

/// A server process on this machine; it is killed when the test ends.
struct Listening(Child);

impl Drop for Listening {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn everything_over_streamable_http() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap();
    drop(port);
    let server = Command::new(program("mcp-server-everything"))
        .arg("streamableHttp")
        .env("PORT", address.port().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut server = Listening(server);
    let tools = loop {
        assert_eq!(server.0.try_wait().unwrap(), None, "the server has ended");
        let url = format!("http://{address}/mcp");
        if let Ok(tools) = T::mcp(McpServer::http(url)).await {
            break tools;
        }
    };
    let mut dispatcher = ToolDispatcher::new();
    dispatcher.register(tools).unwrap();
    everything_works(&dispatcher).await;
}

#[tokio::test]
async fn files_within_their_directory_and_none_outside() {
    let place = tempfile::tempdir().unwrap();
    let inside = place.path().to_str().unwrap();
    let server = McpServer::stdio(program("mcp-server-filesystem"), [inside])
        .prefix("files_")
        .policy("files_write_*", ToolPolicy::gate("Write?"));
    let mut tools = ToolDispatcher::new().with_confirmation_provider(std::sync::Arc::new(
        |request: ConfirmationRequest| async move {
            match request.args["path"]
                .as_str()
                .is_some_and(|it| it.ends_with("no.txt"))
            {
                true => ToolConfirmation::denied("not this one"),
                false => ToolConfirmation::confirmed(),
            }
        },
    ));
    tools.register(T::mcp(server).await.unwrap()).unwrap();
    let write = async |name: &str| {
        let args = json!({"path": format!("{inside}/{name}"), "content": "Buy milk."});
        tools.call_function("files_write_file", args).await
    };
    write("yes.txt").await.unwrap();
    assert_eq!(write("no.txt").await.unwrap_err().kind(), "cancelled");
    assert!(!place.path().join("no.txt").exists());
    let read = async |path: &str| {
        let read = tools.call_function("files_read_text_file", json!({"path": path}));
        read.await.map(|it| it.to_string())
    };
    let yes = read(&format!("{inside}/yes.txt")).await.unwrap();
    assert!(yes.contains("Buy milk."), "{yes}");
    let outside = read("/etc/passwd").await.unwrap_err();
    assert_eq!(outside.kind(), "execution_failed");
    assert!(outside.to_string().contains("Access denied"), "{outside}");
}
