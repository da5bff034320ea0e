//! The three treatments of a call.

use std::time::Duration;

use recount::prelude::{Engine, ToolConfirmation};
use recount::session::OnExpiry;
use recount::testing::ManualClock;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::bench::{Bench, POLICIES, agent, alone, answer, call, calls, declared};

#[tokio::test]
async fn observed_calls_and_their_answers_pass_unchanged() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let frame = calls(&[call("f1", "look_up"), call("f2", "look_up")]);
    vendor.text(&frame).await;
    assert_eq!(client.next().await, Some(Message::text(frame)));
    for id in ["f2", "f1"] {
        let given = answer(id, "look_up");
        client.binary(&given).await;
        assert_eq!(vendor.next().await, Some(Message::binary(given)));
    }
}

#[tokio::test]
async fn observed_calls_stay_together_and_with_what_is_beside_them() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let list = [call("f1", "look_up"), call("f2", "look_up")].join(", ");
    let usage = r#""usageMetadata": {"totalTokenCount": 7}"#;
    let whole = format!(r#"{{"toolCall": {{"functionCalls": [{list}]}}, {usage}}}"#);
    vendor.binary(&whole).await;
    assert_eq!(client.next().await, Some(Message::binary(whole)));
    let observed = [call("f3", "look_up"), call("f4", "look_up")].join(",");
    vendor
        .binary(&calls(&[call("f5", "refund"), observed.clone()]))
        .await;
    assert_eq!(client.next_text().await, alone(&observed));
}

#[tokio::test]
async fn mixed_frame_is_divided_and_each_call_keeps_its_text() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let (held, free, hosted) = (
        call("f1", "refund"),
        call("f2", "look_up"),
        call("f3", "server_time"),
    );
    vendor
        .binary(&calls(&[held.clone(), free.clone(), hosted]))
        .await;
    assert_eq!(client.next_text().await, alone(&free));
    // This agent acknowledges a held call at once.
    let waiting = vendor.next_json().await;
    assert_eq!(waiting["toolResponse"]["functionResponses"][0]["id"], "f1");
    let told = vendor.next_json().await;
    let response = &told["toolResponse"]["functionResponses"][0];
    assert_eq!(response["id"], "f3", "{told}");
    assert_eq!(response["response"], json!({"time": "12:00"}));
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    assert_eq!(client.next_text().await, alone(&held));
}

#[tokio::test]
async fn denied_call_never_reaches_the_client() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[call("f1", "wipe")])).await;
    bench.answer("wipe", ToolConfirmation::denied("no")).await;
    vendor.binary(r#"{"usageMetadata":{}}"#).await;
    assert_eq!(client.next_text().await, r#"{"usageMetadata":{}}"#);
    let told = vendor.next_text().await;
    assert!(told.contains("f1"), "{told}");
}

#[tokio::test]
async fn unanswered_call_reaches_the_client_if_so_chosen() {
    let clock = ManualClock::new();
    let time = Duration::from_secs(60);
    let agent = agent(POLICIES).gates_expire_after(time);
    let agent = agent.gates_on_expiry(OnExpiry::Allow);
    let engine = Engine::in_memory().agent("desk", agent);
    let engine = engine.clock(clock.clone()).open().await.unwrap();
    let mut bench = Bench::over(engine).await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let held = call("f1", "refund");
    vendor.binary(&calls(std::slice::from_ref(&held))).await;
    // The acknowledgement proves that the call is held.
    vendor.next_json().await;
    clock.advance(time);
    assert_eq!(client.next_text().await, alone(&held));
    assert_eq!(bench.count("gate_waived").await, 1);
    assert_eq!(bench.count("confirmation_answered").await, 0);
}

#[tokio::test]
async fn cancellation_reaches_the_client_for_what_it_has() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.binary(&calls(&[call("f2", "look_up")])).await;
    assert_eq!(client.next_text().await, calls(&[call("f2", "look_up")]));
    vendor
        .binary(r#"{"toolCallCancellation":{"ids":["f1","f2"]}}"#)
        .await;
    let cancelled = client.next_text().await;
    assert_eq!(cancelled, r#"{"toolCallCancellation":{"ids":["f2"]}}"#);
}

#[tokio::test]
async fn answers_to_calls_that_the_client_does_not_have_are_dropped() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    // The acknowledgement proves that the call is held.
    let waiting = vendor.next_json().await;
    assert_eq!(waiting["toolResponse"]["functionResponses"][0]["id"], "f1");
    for forged in [
        answer("f1", "refund"),
        answer("f9", "look_up"),
        r#"{"toolResponse":{"functionResponses":[{"name":"refund","response":{}}]}}"#.to_owned(),
    ] {
        client.text(&forged).await;
    }
    client.text(r#"{"realtimeInput":{"text":"hello"}}"#).await;
    assert_eq!(
        vendor.next_text().await,
        r#"{"realtimeInput":{"text":"hello"}}"#
    );
    assert_eq!(bench.engine.pending().await.unwrap().len(), 1);
}

#[tokio::test]
async fn cancelled_call_is_held_no_longer() {
    let mut bench = Bench::start().await;
    let (_client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    let updates = bench.engine.subscribe();
    vendor
        .binary(r#"{"toolCallCancellation":{"ids":["f1"]}}"#)
        .await;
    bench.recorded(updates, "confirmation_withdrawn").await;
    assert_eq!(bench.engine.pending().await.unwrap(), []);
}

#[tokio::test]
async fn answer_after_the_acknowledgement_is_conversation() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    let waiting = vendor.next_json().await;
    let response = &waiting["toolResponse"]["functionResponses"][0];
    assert_eq!(response["id"], "f1");
    assert!(response.get("willContinue").is_none(), "{waiting}");
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    client.next_text().await;
    client.text(&answer("f1", "refund")).await;
    let told = vendor.next_json().await;
    assert!(told["clientContent"].is_object(), "{told}");
}

#[tokio::test]
async fn policy_that_does_not_fit_refuses_its_own_calls_alone() {
    let policies = r#"{"tools": {"refund": {"retry": {"attempts": 3, "backoff": "1s"}}}}"#;
    let engine = recount::engine::Engine::in_memory().agent("desk", agent(policies));
    let mut bench = Bench::over(engine.open().await.unwrap()).await;
    let many = |count| (0..count).map(|it| json!({"name": format!("f{it}")}));
    for others in [0, 40] {
        let others: Vec<_> = many(others).collect();
        let tools = json!({"tools": [declared(), {"functionDeclarations": others}]});
        let (mut client, mut vendor) = bench.connected_with("k", &[], tools).await;
        vendor.binary(&calls(&[call("f1", "refund")])).await;
        vendor.binary(&calls(&[call("f2", "look_up")])).await;
        assert_eq!(client.next_text().await, calls(&[call("f2", "look_up")]));
        let told = vendor.next_json().await;
        assert_eq!(told["toolResponse"]["functionResponses"][0]["id"], "f1");
    }
}
