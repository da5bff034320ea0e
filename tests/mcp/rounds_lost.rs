//! Calls that a server has answered with a question, where the next request fails.

use recount::mcp::McpServer;
use recount::prelude::*;

use crate::door::Does::{Asks, BreaksOff, Challenges, Fails, Says, Wants};
use crate::door::{Does, Door};
use crate::questions::agreeing;
use crate::server::Server;

/// The tools of a server behind a middleware, with a provider that confirms everything.
async fn behind(door: &Door) -> ToolDispatcher {
    let url = door.before(Server::new(json!({}))).await;
    agreeing(McpServer::http(url)).await.0
}

#[tokio::test]
async fn call_received_by_server_is_not_repeated_nor_called_unmade() {
    let ends = [
        // The session has expired.
        (Says(404), "unknown_outcome"),
        // The request is rejected.
        (Says(307), "unknown_outcome"),
        (Says(401), "unknown_outcome"),
        (Challenges(401), "unknown_outcome"),
        (Challenges(403), "unknown_outcome"),
        (Says(405), "unknown_outcome"),
        (Says(429), "unknown_outcome"),
        // The response is lost.
        (Says(503), "unknown_outcome"),
        (BreaksOff, "unknown_outcome"),
        // The server itself reports a failure.
        (Fails, "execution_failed"),
    ];
    for (end, kind) in ends {
        let door = Door::default();
        let tools = behind(&door).await;
        door.next("echo", [Asks, end.clone()]);
        let failed = tools.call_function("echo", json!({})).await.unwrap_err();
        assert_eq!(failed.kind(), kind, "{end:?}: {failed}");
        let came = door.came("echo");
        assert_eq!(came.len(), 2, "{end:?}: {came:?}");
        let answered = &came[1]["inputResponses"]["next"];
        assert_eq!(answered["action"], "accept", "{end:?}");
        let key = |it: &Value| it["_meta"]["recount/idempotencyKey"].clone();
        assert!(key(&came[0]).is_string(), "{end:?}");
        assert_eq!(key(&came[1]), key(&came[0]), "{end:?}");
        // The next call is independent.
        tools.call_function("echo", json!({})).await.unwrap();
        assert_eq!(door.came("echo")[2].get("inputResponses"), None, "{end:?}");
    }
}

#[tokio::test]
async fn unmade_call_is_repeated_once_after_expired_session() {
    let door = Door::default();
    let tools = behind(&door).await;
    let echo = async || tools.call_function("echo", json!({"a": 1})).await;
    door.next("echo", [Says(404)]);
    assert_eq!(echo().await, Ok(json!({"structuredContent": {"a": 1}})));
    assert_eq!(door.came("echo").len(), 2);
    door.next("echo", [Says(404), Says(404)]);
    assert_eq!(echo().await.unwrap_err().kind(), "not_available");
    assert_eq!(door.came("echo").len(), 4);
}

#[tokio::test]
async fn failed_call_reports_its_kind_and_next_call_succeeds() {
    // The number of connections until the next call succeeds.
    let ends = [
        (BreaksOff, "unknown_outcome", 2),
        (Challenges(401), "not_available", 2),
        (Challenges(403), "not_available", 2),
        (Says(403), "not_available", 2),
        (Says(400), "unknown_outcome", 2),
        (Says(307), "not_available", 1),
        (Says(429), "not_available", 1),
        (Says(503), "unknown_outcome", 1),
        (Fails, "execution_failed", 1),
    ];
    for (end, kind, connections) in ends {
        let door = Door::default();
        let tools = behind(&door).await;
        door.next("echo", [end.clone()]);
        let failed = tools.call_function("echo", json!({})).await.unwrap_err();
        assert_eq!(failed.kind(), kind, "{end:?}: {failed}");
        assert_eq!(door.came("echo").len(), 1, "{end:?}");
        tools.call_function("echo", json!({})).await.unwrap();
        assert_eq!(door.came("initialize").len(), connections, "{end:?}");
    }
}

#[tokio::test]
async fn no_error_shows_a_secret_that_the_server_was_given() {
    let ends = [
        (Says(403), "not_available"),
        (Says(400), "unknown_outcome"),
        (Fails, "execution_failed"),
    ];
    for (end, kind) in ends {
        let door = Door::default();
        let url = door.before(Server::new(json!({}))).await;
        let (tools, _) = agreeing(McpServer::http(url).bearer("s3cret-token")).await;
        door.next("echo", [end.clone()]);
        let failed = tools.call_function("echo", json!({})).await.unwrap_err();
        assert_eq!(failed.kind(), kind, "{end:?}: {failed}");
        let told = failed.to_string();
        assert!(told.contains("[hidden]"), "{end:?}: {told}");
        assert!(!told.contains("s3cret"), "{end:?}: {told}");
    }
}

#[tokio::test]
async fn a_server_that_never_ceases_to_ask_fails_the_call() {
    let door = Door::default();
    let tools = behind(&door).await;
    door.next("echo", vec![Asks; 10]);
    tools.call_function("echo", json!({})).await.unwrap();
    door.next("echo", vec![Asks; 11]);
    let failed = tools.call_function("echo", json!({})).await.unwrap_err();
    assert_eq!(failed.kind(), "execution_failed", "{failed}");
    assert_eq!(door.came("echo").len(), 22);
}

#[tokio::test]
async fn url_question_is_not_shown_and_non_question_is_not_answered() {
    let page = json!({"method": "elicitation/create", "params": {
        "mode": "url", "message": "Look here", "elicitationId": "p1",
            "url": "https://example.com/page",
    }});
    let wants = [
        (page, json!({"next": {"action": "decline"}})),
        (json!({"method": "roots/list"}), json!({})),
    ];
    for (wanted, answered) in wants {
        let door = Door::default();
        let url = door.before(Server::new(json!({}))).await;
        let (tools, asked) = agreeing(McpServer::http(url)).await;
        door.next("echo", [Wants(wanted.clone())]);
        tools.call_function("echo", json!({})).await.unwrap();
        assert_eq!(door.came("echo")[1]["inputResponses"], answered, "{wanted}");
        assert_eq!(asked.lock().unwrap().len(), 0, "{wanted}");
    }
}

/// A later question, during a call that is independent of the first.
#[tokio::test]
async fn unanswered_call_may_ask_and_ended_call_may_not() {
    let ends: [(&[Does], bool); 9] = [
        (&[], true),
        (&[Fails], true),
        // No call was made.
        (&[Says(429)], true),
        (&[Asks], true),
        (&[Asks, Fails], true),
        // The server that runs the call may not be done.
        (&[Says(503)], false),
        (&[Asks, Says(503)], false),
        // The server that received the call may not be done, although its repetition was rejected.
        (&[Asks, Says(429)], false),
        (&[Asks, Asks, Says(429)], false),
    ];
    for (end, is_over) in ends {
        let door = Door::default();
        let url = door.before(Server::new(json!({}))).await;
        let (tools, asked) = agreeing(McpServer::http(url)).await;
        door.next("echo", end.iter().cloned());
        // Other tests check the outcome.
        let _ = tools.call_function("echo", json!({})).await;
        let before = asked.lock().unwrap().len();
        let answer = tools.call_function("ask", json!({})).await.unwrap();
        let (action, more) = match is_over {
            true => ("accept", 1),
            false => ("decline", 0),
        };
        assert_eq!(answer["structuredContent"]["action"], action, "{end:?}");
        assert_eq!(asked.lock().unwrap().len() - before, more, "{end:?}");
    }
}
