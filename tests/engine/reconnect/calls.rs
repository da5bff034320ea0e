//! A call outlives its connection: it runs once, and its outcome reaches the model once.

use recount::prelude::{Actor, ToolConfirmation};
use recount::session::Outcome;
use recount::simulator::Standing;

use crate::nothing_left::settle;
use crate::reconnect::stage::Stage;

/// The model calls on the first connection, and has issued a handle before.
const SHIP: &str = r#"
{"on": "setup", "connection": 1, "send": [{"sessionResumptionUpdate": {"newHandle": "h1", "resumable": true}}]}
{"on": {"text": "go"}, "send": [{"call": [{"id": "s", "name": "ship", "args": {"n": 1}}]}]}
{"on": {"responses_to": ["s"]}, "send": [{"say": "Shipped."}]}
{"on": "otherwise", "send": [{"say": "Well."}]}
"#;

#[tokio::test(start_paused = true)]
async fn lost_connection_cancels_nothing_and_next_gets_outcome() {
    let stage = Stage::new(SHIP, |agent| agent).await;
    let live = stage.gone().await;
    stage.drop_then(1006, []).await;
    assert_eq!((stage.till.runs(), stage.till.over()), (1, 0));
    stage.till.release().await;
    assert_eq!(stage.outcomes(&live).await, [Outcome::Returned]);
    assert!(stage.answered().is_empty());
    let told = stage.told(2);
    let outcome = told.iter().filter(|it| it.starts_with("[tool outcome]"));
    assert_eq!(outcome.count(), 1, "{told:?}");
    insta::assert_snapshot!(stage.outcome(&live).await);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn an_outcome_between_two_connections_is_told_on_the_next() {
    let stage = Stage::new(SHIP, |agent| agent).await;
    let live = stage.gone().await;
    stage.model.drop_connection(1006, "gone");
    settle().await;
    stage.till.release().await;
    stage.pass(1_000).await;
    let told = stage.told(2);
    assert!(
        told.last().unwrap().starts_with("[tool outcome]"),
        "{told:?}"
    );
    assert_eq!(stage.till.runs(), 1);
    stage.end(live).await;
}

/// The service resumes from a handle that is older than the call, so it calls again.
const AGAIN: &str = r#"
{"on": "setup", "connection": 1, "send": [{"sessionResumptionUpdate": {"newHandle": "h1", "resumable": true}}]}
{"on": "setup", "connection": 2, "send": [{"call": [{"id": "s", "name": "ship", "args": {"n": 1}}]}]}
{"on": {"text": "go"}, "connection": 1, "send": [{"call": [{"id": "s", "name": "ship", "args": {"n": 1}}]}]}
{"on": {"responses_to": ["s"]}, "once": false, "send": [{"say": "Shipped."}]}
{"on": "otherwise", "send": []}
"#;

#[tokio::test(start_paused = true)]
async fn redelivered_running_call_runs_once_and_is_answered_by_id() {
    let stage = Stage::new(AGAIN, |agent| agent).await;
    let live = stage.gone().await;
    stage.drop_then(1006, []).await;
    stage.till.release().await;
    assert_eq!(stage.till.runs(), 1);
    let answered = stage.answered();
    let expected = (2, r#"{"shipped":true}"#.to_owned(), Standing::Accepted);
    assert_eq!(answered, [expected]);
    insta::assert_snapshot!(stage.outcome(&live).await);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn redelivered_ended_call_is_answered_from_record() {
    let stage = Stage::new(AGAIN, |agent| agent).await;
    let live = stage.gone().await;
    stage.till.release().await;
    assert_eq!(stage.answered().len(), 1);
    stage.drop_then(1006, []).await;
    assert_eq!(stage.till.runs(), 1);
    let answers: Vec<_> = stage
        .answered()
        .into_iter()
        .map(|it| (it.0, it.2))
        .collect();
    assert_eq!(answers, [(1, Standing::Accepted), (2, Standing::Accepted)]);
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn on_a_fresh_conversation_the_same_id_is_another_call() {
    let fresh = AGAIN.replace("\"resumable\": true", "\"resumable\": false");
    let stage = Stage::new(&fresh, |agent| agent).await;
    let live = stage.gone().await;
    stage.drop_then(1006, []).await;
    assert_eq!(stage.till.runs(), 2);
    stage.end(live).await;
}

/// The model never shows that it received the response.
const UNHEARD: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "p", "name": "pay"}]}]}
{"on": "otherwise", "send": [{"say": "Well."}]}
"#;

#[tokio::test(start_paused = true)]
async fn unconfirmed_response_is_sent_again_after_a_loss() {
    let stage = Stage::new(UNHEARD, |agent| agent).await;
    let live = stage.gone().await;
    assert_eq!(stage.answered().len(), 1);
    stage.drop_then(1011, []).await;
    let told = stage.told(2);
    assert_eq!(
        told.iter().filter(|it| it.contains("paid")).count(),
        1,
        "{told:?}"
    );
    let session = stage.folded(&live).await;
    assert!(session.deliveries.is_empty(), "the model has answered it");
    stage.end(live).await;
}

/// The model reacts to the response, and then issues a handle that covers it.
const COVERED: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "p", "name": "pay"}]}]}
{"on": {"responses_to": ["p"]}, "send": [{"say": "Paid."}, {"sessionResumptionUpdate": {"newHandle": "h1", "resumable": true}}]}
"#;

#[tokio::test(start_paused = true)]
async fn response_covered_by_handle_is_not_sent_again() {
    let stage = Stage::new(COVERED, |agent| agent).await;
    let live = stage.gone().await;
    stage.drop_then(1006, []).await;
    assert_eq!(stage.connections(), 2);
    assert_eq!(stage.told(2), [""; 0]);
    assert_eq!(stage.count(&live, "history_sent").await, 0);
    stage.end(live).await;
}

/// The handle may be older than the response, although it arrives after it.
const OVERTAKEN: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "p", "name": "pay"}]}]}
{"on": {"responses_to": ["p"]}, "send": [{"sessionResumptionUpdate": {"newHandle": "h1", "resumable": true}}]}
"#;

#[tokio::test(start_paused = true)]
async fn response_newer_than_handle_is_sent_again() {
    let stage = Stage::new(OVERTAKEN, |agent| agent).await;
    let live = stage.gone().await;
    stage.drop_then(1006, []).await;
    assert_eq!(stage.connections(), 2);
    let told = stage.told(2);
    assert_eq!(
        told.iter().filter(|it| it.contains("paid")).count(),
        1,
        "{told:?}"
    );
    stage.end(live).await;
}

#[tokio::test(start_paused = true)]
async fn an_approval_after_the_loss_runs_the_tool_once() {
    let script = SHIP.replace("ship", "refund");
    let stage = Stage::new(&script, |agent| agent).await;
    let live = stage.gone().await;
    stage.drop_then(1006, []).await;
    let waiting = stage.engine.pending().await.unwrap();
    assert_eq!(waiting.len(), 1);
    let (yes, by) = (ToolConfirmation::confirmed(), Actor::embedder("ada"));
    live.answer(waiting[0].id, yes, by).await.unwrap();
    settle().await;
    let told = stage.told(2);
    assert!(told.last().unwrap().contains("refunded"), "{told:?}");
    let session = stage.folded(&live).await;
    assert!(session.deliveries.is_empty(), "told and heard");
    stage.end(live).await;
}

/// The arguments arrive in pieces; the second call is never completed.
const STREAMED: &str = r#"
{"on": {"text": "go"}, "send": [{"raw": "{\"toolCall\":{\"functionCalls\":[{\"id\":\"p\",\"name\":\"pay\",\"partialArgs\":[{\"jsonPath\":\"$.to\",\"stringValue\":\"Par\",\"willContinue\":true}],\"willContinue\":true},{\"id\":\"s\",\"name\":\"ship\",\"willContinue\":true}]}}"}]}
{"on": {"text": "more"}, "send": [{"raw": "{\"toolCall\":{\"functionCalls\":[{\"id\":\"p\",\"partialArgs\":[{\"jsonPath\":\"$.to\",\"stringValue\":\"is\"},{\"jsonPath\":\"$.cents\",\"numberValue\":1.50}]}]}}"}]}
{"on": {"text": "odd"}, "send": [{"raw": "{\"toolCall\":{\"functionCalls\":[{\"id\":\"q\",\"name\":\"pay\",\"partialArgs\":[{\"jsonPath\":\"to\",\"stringValue\":\"x\"}]}]}}"}]}
{"on": "otherwise", "send": []}
"#;

#[tokio::test(start_paused = true)]
async fn streamed_arguments_run_once_they_are_whole() {
    let stage = Stage::new(STREAMED, |agent| agent).await;
    let live = stage.gone().await;
    assert_eq!(stage.till.runs(), 0, "pieces are no call");
    assert_eq!(stage.count(&live, "function_call_received").await, 0);
    live.send_text("more").await.unwrap();
    settle().await;
    assert_eq!(stage.till.runs(), 1);
    let calls = stage.events(&live, "function_call_received").await;
    let body = calls.first().unwrap().body().unwrap();
    let whole = r#"{"cents":1.50,"to":"Paris"}"#;
    assert!(body.contains(whole), "{body}");
    live.send_text("odd").await.unwrap();
    settle().await;
    assert_eq!(stage.till.runs(), 1, "malformed pieces do not run");
    let outcomes = stage.outcomes(&live).await;
    assert_eq!(outcomes, [Outcome::Returned, Outcome::Refused]);
    // The incomplete call ends with the connection.
    stage.drop_then(1006, []).await;
    assert_eq!(stage.count(&live, "function_call_received").await, 2);
    stage.end(live).await;
}

/// The first call is cancelled while its arguments stream, and more pieces of it arrive.
const TAKEN_BACK: &str = r#"
{"on": {"text": "go"}, "send": [{"raw": "{\"toolCall\":{\"functionCalls\":[{\"id\":\"p\",\"name\":\"pay\",\"partialArgs\":[{\"jsonPath\":\"$.to\",\"stringValue\":\"Par\",\"willContinue\":true}],\"willContinue\":true}]}}"}, {"toolCallCancellation": {"ids": ["p"]}}]}
{"on": {"text": "more"}, "send": [{"raw": "{\"toolCall\":{\"functionCalls\":[{\"id\":\"p\",\"name\":\"pay\",\"partialArgs\":[{\"jsonPath\":\"$.to\",\"stringValue\":\"is\"}]}]}}"}]}
{"on": {"text": "next"}, "send": [{"call": [{"id": "q", "name": "pay"}]}]}
{"on": "otherwise", "send": []}
"#;

#[tokio::test(start_paused = true)]
async fn tail_of_a_cancelled_streamed_call_does_not_run() {
    let stage = Stage::new(TAKEN_BACK, |agent| agent).await;
    let live = stage.gone().await;
    live.send_text("more").await.unwrap();
    settle().await;
    assert_eq!(stage.till.runs(), 0, "the rest of a cancelled call");
    assert_eq!(stage.count(&live, "function_call_received").await, 0);
    live.send_text("next").await.unwrap();
    settle().await;
    assert_eq!(stage.till.runs(), 1);
    stage.end(live).await;
}
