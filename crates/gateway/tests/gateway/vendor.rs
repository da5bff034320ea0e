//! A vendor that calls where, when and how it should not.

use recount::prelude::ToolConfirmation;
use tokio_tungstenite::tungstenite::Message;

use crate::bench::{Bench, SETUP_COMPLETE, Side, alone, answer, call, calls};

/// A message that shows that nothing was sent before it.
const USAGE: &str = r#"{"usageMetadata":{}}"#;

async fn next_is_usage(client: &mut Side, vendor: &mut Side) {
    vendor.binary(USAGE).await;
    assert_eq!(client.next_text().await, USAGE);
}

#[tokio::test]
async fn calls_before_the_setup_is_complete_are_held_too() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.opened("k", &[]).await;
    let tools = r#"[{"functionDeclarations":[{"name":"refund"},{"name":"look_up"}]}]"#;
    let setup = format!(r#"{{"setup":{{"model":"models/m","tools":{tools}}}}}"#);
    client.text(&setup).await;
    vendor.next_json().await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.binary(&calls(&[call("f2", "look_up")])).await;
    assert_eq!(client.next_text().await, calls(&[call("f2", "look_up")]));
    vendor.binary(SETUP_COMPLETE).await;
    assert_eq!(client.next_text().await, SETUP_COMPLETE);
    assert_eq!(bench.engine.pending().await.unwrap().len(), 1);
}

#[tokio::test]
async fn hidden_calls_do_not_reach_the_client() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let one = call("f1", "refund");
    for frame in [
        format!(r#"{{"tool_call":{{"function_calls":[{one}]}}}}"#),
        format!(r#"{{"tool\u0043all":{{"functionCalls":[{one}]}}}}"#),
        format!(r#"{{"toolCall":{{}},"toolCall":{{"functionCalls":[{one}]}}}}"#),
        format!(r#"{{"toolCall":{{"functionCalls":[],"functionCalls":[{one}]}}}}"#),
        r#"{"toolCall":{"functionCalls":[{"name":"look_up","name":"refund"}]}}"#.to_owned(),
        format!(r#"[{{"toolCall":{{"functionCalls":[{one}]}}}}]"#),
        format!("\u{feff}{}", calls(std::slice::from_ref(&one))),
    ] {
        vendor.text(&frame).await;
    }
    vendor
        .send(Message::binary(b"{\"toolCall\xff\":{}}".to_vec()))
        .await;
    next_is_usage(&mut client, &mut vendor).await;
}

#[tokio::test]
async fn held_call_in_the_models_turn_is_removed() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let turn =
        |parts: &str| format!(r#"{{"serverContent":{{"modelTurn":{{"parts":[{parts}]}}}}}}"#);
    let held = format!(r#"{{"functionCall":{}}}"#, call("f1", "refund"));
    let hosted = format!(r#"{{"function_call":{}}}"#, call("f2", "server_time"));
    let text = r#"{"text":"hm"}"#;
    vendor.text(&turn(&[text, &held, &hosted].join(","))).await;
    assert_eq!(client.next_text().await, turn(text));
}

#[tokio::test]
async fn held_call_with_a_repeated_id_is_delivered_once() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let twice = [call("f1", "refund"), call("f1", "refund")];
    vendor.binary(&calls(&twice)).await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    assert_eq!(client.next_text().await, alone(&call("f1", "refund")));
    client.text(&answer("f1", "refund")).await;
    next_is_usage(&mut client, &mut vendor).await;
    assert_eq!(bench.count("call_claimed").await, 1);
}

#[tokio::test]
async fn ten_thousand_calls_do_not_stop_the_next_message() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let many = (0..10_000).map(|it| call(&format!("f{it}"), "look_up"));
    vendor.binary(&calls(&many.collect::<Vec<_>>())).await;
    next_is_usage(&mut client, &mut vendor).await;
    // The calls that the session takes are delivered, the others are refused.
    let delivered = client.next_text().await;
    assert!(delivered.contains(r#""id": "f0""#), "{delivered}");
    let refused = vendor.next_text().await;
    assert!(refused.contains("functionResponses"), "{refused}");
}

#[tokio::test]
async fn calls_without_id_or_name_follow_the_same_rules() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let nameless = r#"{"id":"f1","args":{}}"#.to_owned();
    vendor.binary(&calls(&[nameless])).await;
    let held = r#"{"name": "refund", "args": {}}"#.to_owned();
    vendor.binary(&calls(std::slice::from_ref(&held))).await;
    let free = r#"{"id":"","name": "look_up"}"#.to_owned();
    vendor.binary(&calls(std::slice::from_ref(&free))).await;
    assert_eq!(client.next_text().await, calls(&[free]));
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    assert_eq!(client.next_text().await, alone(&held));
}

#[tokio::test]
async fn garbage_and_unknown_cancellations_change_nothing() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    for frame in [
        "",
        "null",
        "{",
        "{]",
        r#"{"toolCall":7}"#,
        r#"{"toolCall":{"functionCalls":{}}}"#,
        r#"{"toolCallCancellation":{"ids":["f7","f8"]}}"#,
        r#"{"toolCallCancellation":{"ids":[1]}}"#,
        &format!(
            "{{\"toolCall\":{}1{}}}",
            "[".repeat(5_000),
            "]".repeat(5_000)
        ),
    ] {
        vendor.text(frame).await;
    }
    next_is_usage(&mut client, &mut vendor).await;
    vendor.binary(&calls(&[call("f1", "look_up")])).await;
    assert_eq!(client.next_text().await, calls(&[call("f1", "look_up")]));
}
