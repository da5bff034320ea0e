//! Clients get only messages that their SDKs know and take, and pings are answered at any time.

use std::sync::Arc;

use futures_util::StreamExt;
use recount::prelude::*;
use recount::testing::StuckJournal;
use recount_gateway::AnyCredential;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::bench::{Bench, POLICIES, Side, agent, alone, answer, call, calls};

const USAGE: &str = r#"{"usageMetadata":{}}"#;

/// Sends a ping and returns the payload of the pong.
async fn ponged(side: &mut Side) -> Vec<u8> {
    side.send(Message::Ping(b"beat".to_vec().into())).await;
    loop {
        let message = match side {
            Side::Client(it) => it.next().await,
            Side::Vendor(it) => it.next().await,
        };
        if let Message::Pong(payload) = message.unwrap().unwrap() {
            return payload.to_vec();
        }
    }
}

/// The messages that a client gets until the vendor's next usage.
async fn until_usage(client: &mut Side, vendor: &mut Side) -> Vec<String> {
    vendor.binary(USAGE).await;
    let mut got = Vec::new();
    loop {
        let text = client.next_text().await;
        if text == USAGE {
            return got;
        }
        got.push(text);
    }
}

/// True for a message that the gateway may make: calls and cancellations, with their members.
fn is_known(message: &str) -> bool {
    let message: Value = serde_json::from_str(message).unwrap();
    let members = message.as_object().unwrap();
    let is_call = |it: &Value| {
        let mut members = it.as_object().unwrap().keys();
        members.all(|it| ["id", "name", "args"].contains(&it.as_str()))
    };
    members.iter().all(|(key, value)| match key.as_str() {
        "toolCall" => {
            let calls = value["functionCalls"].as_array().unwrap();
            value.as_object().unwrap().len() == 1 && calls.iter().all(is_call)
        }
        "toolCallCancellation" => {
            let ids = value["ids"].as_array().unwrap();
            value.as_object().unwrap().len() == 1 && ids.iter().all(Value::is_string)
        }
        _ => false,
    })
}

#[tokio::test]
async fn pings_are_answered_while_calls_are_held() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    assert_eq!(bench.engine.pending().await.unwrap().len(), 1);
    for side in [&mut client, &mut vendor] {
        assert_eq!(ponged(side).await, b"beat");
    }
    // A ping of one side is not for the other one.
    assert_eq!(until_usage(&mut client, &mut vendor).await, [""; 0]);
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    assert_eq!(client.next_text().await, alone(&call("f1", "refund")));
}

#[tokio::test]
async fn pings_are_answered_while_the_journal_does_not_write() {
    let journal = StuckJournal::new();
    let engine = Engine::in_memory().journal(journal.clone());
    let engine = engine.agent("desk", agent(POLICIES)).open().await.unwrap();
    let mut bench = Bench::with(engine, Arc::new(AnyCredential), |it| it).await;
    let (mut client, mut vendor) = bench.connected("k").await;
    journal.stick();
    vendor.binary(&calls(&[call("f1", "look_up")])).await;
    for side in [&mut client, &mut vendor] {
        assert_eq!(ponged(side).await, b"beat");
    }
    journal.release();
    assert_eq!(client.next_text().await, calls(&[call("f1", "look_up")]));
}

#[tokio::test]
async fn client_gets_nothing_that_its_sdk_does_not_know() {
    let mut bench = Bench::start().await;
    let session = [("x-recount-session", "s1")];
    let (mut client, mut vendor) = bench.connected_with("k", &session, json!({})).await;
    let mixed = ["look_up", "refund", "wipe", "server_time"];
    let mixed: Vec<String> = mixed.iter().map(|it| call(it, it)).collect();
    vendor.binary(&calls(&mixed)).await;
    let mut got = vec![client.next_text().await];
    bench.answer("wipe", ToolConfirmation::denied("no")).await;
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    got.push(client.next_text().await);
    // One that the client has is cancelled, with one that is held and one that is nowhere.
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    let ids = r#"{"toolCallCancellation":{"ids":["refund","f1","f9"]}}"#;
    vendor.binary(ids).await;
    got.extend(until_usage(&mut client, &mut vendor).await);
    client.text(&answer("look_up", "look_up")).await;
    // What is left goes to the next connection.
    vendor.binary(&calls(&[call("f2", "refund")])).await;
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    client.drop_connection();
    let (mut client, mut vendor) = bench.connected_with("k", &session, json!({})).await;
    got.extend(until_usage(&mut client, &mut vendor).await);
    assert!(got.len() >= 3, "{got:?}");
    for message in got {
        assert!(is_known(&message), "{message}");
    }
}

/// A held call makes the gateway search messages. It must not end a connection by that.
#[tokio::test]
async fn numbers_and_depth_pass_while_a_call_is_held() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    let deep = format!("{}{}", "[".repeat(126), "]".repeat(126));
    for message in [
        r#"{"realtimeInput":{"audio":{"data":"AA","x":1e999}}}"#.to_owned(),
        r#"{"clientContent":{"turns":[{"parts":[{"partMetadata":{"n":1e999}}]}]}}"#.to_owned(),
        format!(r#"{{"clientContent":{{"x":{deep}}}}}"#),
    ] {
        client.text(&message).await;
        assert_eq!(vendor.next_text().await, message);
    }
}

/// A call with an argument of this many KiB.
fn large(id: &str, kib: usize) -> String {
    let query = "x".repeat(kib << 10);
    format!(r#"{{"id":"{id}","name":"look_up","args":{{"query":"{query}"}}}}"#)
}

#[tokio::test]
async fn large_calls_pass_once_the_journal_writes_again() {
    let journal = StuckJournal::new();
    let engine = Engine::in_memory().journal(journal.clone());
    let engine = engine.agent("desk", agent(POLICIES)).open().await.unwrap();
    let mut bench = Bench::with(engine, Arc::new(AnyCredential), |it| it).await;
    let (mut client, mut vendor) = bench.connected("k").await;
    journal.stick();
    let sent = ["f1", "f2"].map(|id| calls(&[large(id, 500)]));
    for message in &sent {
        vendor.binary(message).await;
    }
    assert_eq!(ponged(&mut client).await, b"beat");
    journal.release();
    for message in &sent {
        assert!(client.next_text().await == *message);
    }
}

/// The engine reads calls up to 512 KiB. The model hears of a larger one, so it does not wait.
#[tokio::test]
async fn call_that_is_too_large_for_the_record_is_refused() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[large("f1", 600)])).await;
    let refused = vendor.next_json().await.to_string();
    assert!(
        refused.contains("f1") && refused.contains("error"),
        "{refused}"
    );
    assert_eq!(until_usage(&mut client, &mut vendor).await, [""; 0]);
}
