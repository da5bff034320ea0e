//! Tasks, and the questions that a server asks while they run.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use recount::mcp::McpServer;
use recount::prelude::*;
use tokio::sync::Semaphore;

use crate::door::Does::{BreaksOff, Holds, Says};
use crate::door::Door;
use crate::questions::agreeing;
use crate::rounds::until;
use crate::server::Server;

/// Calls a tool whose server asks a question through that call, and returns what the server
/// received.
async fn told(tools: &ToolDispatcher) -> Value {
    let answer = tools.call_function("ask", json!({})).await.unwrap();
    answer["structuredContent"]["action"].clone()
}

#[tokio::test]
async fn question_during_running_task_is_not_asked_through_call() {
    let (server, door) = (Server::new(json!({})), Door::default());
    let url = door.before(server.clone()).await;
    let (tools, asked) = agreeing(McpServer::http(url)).await;
    let runs = tools.call_function("job", json!({}));
    let meanwhile = async {
        until("the task is followed", async || {
            server.asked_after.load(Ordering::SeqCst) > 0
        })
        .await;
        assert_eq!(told(&tools).await, "decline");
        assert_eq!(asked.lock().unwrap().len(), 0);
        server.finish();
    };
    let (ended, ()) = tokio::join!(runs, meanwhile);
    ended.unwrap();
    assert_eq!(told(&tools).await, "accept");
    assert_eq!(asked.lock().unwrap().len(), 1);
}

/// A call waits on the first connection while a task that was created there is followed on the
/// next.
#[tokio::test]
async fn task_may_ask_on_first_connection_while_followed_on_next() {
    for (tool, action) in [("echo", "accept"), ("job", "decline")] {
        let (server, door) = (Server::new(json!({})), Door::default());
        let url = door.before(server.clone()).await;
        let (tools, _asked) = agreeing(McpServer::http(url)).await;
        let (may_ask, may_begin) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        door.next("ask", [Holds(may_ask.clone())]);
        door.next(tool, [Holds(may_begin.clone())]);
        let came = async |tool: &str| !door.came(tool).is_empty();
        let is_done = Semaphore::new(0);
        let begins = async {
            let ended = tools.call_function(tool, json!({})).await;
            is_done.add_permits(1);
            ended
        };
        let meanwhile = async {
            until("both wait", async || came("ask").await && came(tool).await).await;
            // The next call finds that this connection is no longer usable.
            door.next("pid", [Says(403)]);
            let away = tools.call_function("pid", json!({})).await.unwrap_err();
            assert_eq!(away.kind(), "not_available");
            may_begin.add_permits(1);
            until("the other is answered", async || {
                is_done.available_permits() > 0 || server.asked_after.load(Ordering::SeqCst) > 0
            })
            .await;
            if tool == "job" {
                // The task still runs where it is followed.
                assert_eq!(told(&tools).await, "decline");
            }
            may_ask.add_permits(1);
        };
        let asks = async {
            let told = told(&tools).await;
            server.finish();
            told
        };
        let (told, ended, ()) = tokio::join!(asks, begins, meanwhile);
        ended.unwrap();
        assert_eq!(told, action, "{tool}");
    }
}

#[tokio::test]
async fn while_two_calls_wait_a_question_is_asked_through_none() {
    let door = Door::default();
    let url = door.before(Server::new(json!({}))).await;
    let (tools, asked) = agreeing(McpServer::http(url)).await;
    let (may_ask, may_end) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    door.next("ask", [Holds(may_ask.clone())]);
    door.next("echo", [Holds(may_end.clone())]);
    let meanwhile = async {
        let came = |name: &str| !door.came(name).is_empty();
        until("both wait", async || came("ask") && came("echo")).await;
        may_ask.add_permits(1);
    };
    let asks = async {
        let told = told(&tools).await;
        may_end.add_permits(1);
        told
    };
    let waits = tools.call_function("echo", json!({}));
    let (told_of_two, waited, ()) = tokio::join!(asks, waits, meanwhile);
    waited.unwrap();
    assert_eq!(told_of_two, "decline");
    assert_eq!(told(&tools).await, "accept");
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn question_of_a_task_is_declined_and_task_continues() {
    let server = Server::new(json!({"task": {"ends": "asks"}}));
    server.finish();
    let url = Door::default().before(server).await;
    let (tools, asked) = agreeing(McpServer::http(url)).await;
    let ended = tools.call_function("job", json!({})).await;
    let answer = json!({"structuredContent": {"answer": {"action": "decline"}}});
    assert_eq!(ended, Ok(answer));
    assert_eq!(asked.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn task_is_polled_again_after_lost_server_connection() {
    let ways = [
        (Says(404), "anew"),
        (Says(403), "anew"),
        (BreaksOff, "anew"),
        (Says(503), "as before"),
    ];
    for (lost, way) in ways {
        let (server, door) = (Server::new(json!({})), Door::default());
        server.finish();
        let url = door.before(server).await;
        let (tools, _asked) = agreeing(McpServer::http(url)).await;
        door.next("tasks/get", [lost.clone()]);
        let ended = tools.call_function("job", json!({})).await;
        let told = json!({"structuredContent": {"printed": 3}});
        assert_eq!(ended, Ok(told), "{lost:?}");
        let connections = door.came("initialize").len();
        assert_eq!(connections, if way == "anew" { 2 } else { 1 }, "{lost:?}");
    }
}

#[tokio::test]
async fn task_result_shows_no_server_secret() {
    let server = Server::new(json!({"task": {"ends": "tells"}}));
    server.finish();
    let url = Door::default().before(server).await;
    let (tools, _asked) = agreeing(McpServer::http(url).bearer("s3cret-token")).await;
    let ended = tools.call_function("job", json!({})).await.unwrap();
    assert_eq!(ended["content"][0]["text"], "printed with [hidden]");
}

#[tokio::test]
async fn a_task_that_fails_is_told_as_it_ended() {
    let ends = [
        ("fails", ToolError::ExecutionFailed("no paper".into())),
        (
            "fails_silently",
            ToolError::ExecutionFailed("its task failed and it does not say why".into()),
        ),
        (
            "is_error",
            ToolError::ExecutionFailed("the paper is torn".into()),
        ),
        (
            "cancels",
            ToolError::Cancelled("the server cancelled its task".into()),
        ),
        (
            "nonsense",
            ToolError::UnknownOutcome(
                "the tool has run, and its server answered with content \
            that is no list; what became of it is unknown"
                    .into(),
            ),
        ),
    ];
    for (end, told) in ends {
        let server = Server::new(json!({"task": {"ends": end}}));
        server.finish();
        let url = Door::default().before(server).await;
        let (tools, _asked) = agreeing(McpServer::http(url)).await;
        let ended = tools.call_function("job", json!({})).await;
        assert_eq!(ended, Err(told), "{end}");
    }
}
