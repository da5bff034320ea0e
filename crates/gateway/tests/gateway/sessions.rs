//! The session of a connection, and what it keeps for the next one.

use std::future::ready;
use std::pin::pin;
use std::sync::Arc;

use recount::prelude::{Engine, ToolConfirmation};
use recount_gateway::{AnyCredential, Settings, Upstream};
use serde_json::json;
use tokio::net::TcpListener;

use crate::bench::{Bench, GRACE, POLICIES, agent, alone, answer, call, calls};

/// Gives the client a handle, and waits until it is known.
async fn with_handle(
    bench: &Bench,
    vendor: &mut crate::bench::Side,
    client: &mut crate::bench::Side,
) {
    let updates = bench.engine.subscribe();
    let update = r#"{"sessionResumptionUpdate":{"newHandle":"h1","resumable":true}}"#;
    vendor.binary(update).await;
    assert_eq!(client.next_text().await, update);
    bench.recorded(updates, "resumption_handle_received").await;
}

#[tokio::test]
async fn handle_continues_the_session_under_its_credential_alone() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("ada").await;
    with_handle(&bench, &mut vendor, &mut client).await;
    let resuming = || json!({"sessionResumption": {"handle": "h1"}});
    for (key, sessions) in [("ada", 1), ("eve", 2)] {
        let updates = bench.engine.subscribe();
        let _sides = bench.connected_with(key, &[], resuming()).await;
        bench.recorded(updates, "connected").await;
        assert_eq!(bench.sessions().await.len(), sessions, "{key}");
    }
}

#[tokio::test]
async fn held_call_is_delivered_on_a_later_connection() {
    let mut bench = Bench::start().await;
    let session = [("x-recount-session", "s1")];
    let (client, mut vendor) = bench.connected_with("ada", &session, json!({})).await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    let updates = bench.engine.subscribe();
    client.drop_connection();
    bench.recorded(updates, "disconnected").await;
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    let (mut client, mut vendor) = bench.connected_with("ada", &session, json!({})).await;
    let delivered = client.next_text().await;
    assert_eq!(
        delivered,
        alone(r#"{"id":"f1","name":"refund","args":{"n":1.50}}"#)
    );
    client.text(&answer("f1", "refund")).await;
    let told = vendor.next_json().await;
    assert!(told["clientContent"].is_object(), "{told}");
    assert_eq!(bench.sessions().await.len(), 1);
}

#[tokio::test]
async fn call_of_a_client_that_left_is_in_doubt() {
    let mut bench = Bench::start().await;
    let session = [("x-recount-session", "s1")];
    let (mut client, mut vendor) = bench.connected_with("ada", &session, json!({})).await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    assert_eq!(client.next_text().await, alone(&call("f1", "refund")));
    let updates = bench.engine.subscribe();
    client.drop_connection();
    bench.recorded(updates, "claim_ended").await;
    let (mut client, mut vendor) = bench.connected_with("ada", &session, json!({})).await;
    let told = vendor.next_json().await;
    assert!(told.to_string().contains("unknown"), "{told}");
    vendor.binary(r#"{"usageMetadata":{}}"#).await;
    assert_eq!(client.next_text().await, r#"{"usageMetadata":{}}"#);
    // A late answer still settles the doubt, and the model hears of it.
    client.text(&answer("f1", "refund")).await;
    let found = vendor.next_json().await;
    assert!(found["clientContent"].is_object(), "{found}");
}

#[tokio::test]
async fn draining_gateway_refuses_clients_and_sends_others_away() {
    let mut bench = Bench::start().await;
    let (mut client, _vendor) = bench.connected("ada").await;
    bench.gateway.drain();
    let refused = tokio_tungstenite::connect_async(bench.url("?key=k")).await;
    assert!(refused.unwrap_err().to_string().contains("503"));
    let gateway = bench.gateway.clone();
    let ended = tokio::spawn(async move { gateway.ended(std::time::Duration::ZERO).await });
    let close = client.closed().await.unwrap();
    assert_eq!(u16::from(close.code), 1001);
    tokio::time::timeout(GRACE, ended).await.unwrap().unwrap();
}

#[tokio::test]
async fn drain_waits_for_a_client_in_its_handshake() {
    let vendor = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream = format!("ws://{}", vendor.local_addr().unwrap());
    let engine = Engine::in_memory().agent("desk", agent(POLICIES));
    let settings = |it| Settings {
        upstream: Upstream::Url(upstream),
        ..it
    };
    let engine = engine.open().await.unwrap();
    let bench = Bench::with(engine, Arc::new(AnyCredential), settings).await;
    let connecting = tokio::spawn(tokio_tungstenite::connect_async(bench.url("?key=k")));
    let (asked, _) = vendor.accept().await.unwrap();
    let mut ended = pin!(bench.gateway.ended(GRACE));
    tokio::select! {
        biased;
        () = &mut ended => panic!("a handshake is under way"),
        () = ready(()) => {}
    }
    let _vendor = tokio_tungstenite::accept_async(asked).await.unwrap();
    drop(connecting.await.unwrap().unwrap());
    ended.await;
}

#[tokio::test]
async fn observed_call_that_is_redelivered_is_answered_again() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("ada").await;
    with_handle(&bench, &mut vendor, &mut client).await;
    vendor.binary(&calls(&[call("f1", "look_up")])).await;
    client.next_text().await;
    let updates = bench.engine.subscribe();
    client.text(&answer("f1", "look_up")).await;
    assert_eq!(vendor.next_text().await, answer("f1", "look_up"));
    bench.recorded(updates, "responses_sent").await;
    vendor.drop_connection();
    let resuming = json!({"sessionResumption": {"handle": "h1"}});
    let (_client, mut vendor) = bench.connected_with("ada", &[], resuming).await;
    // Nothing has shown that the first service got the answer, so the next one is told.
    let told = vendor.next_json().await;
    assert!(told["clientContent"].is_object(), "{told}");
    // It asks again all the same.
    vendor.binary(&calls(&[call("f1", "look_up")])).await;
    let told = vendor.next_json().await;
    let response = &told["toolResponse"]["functionResponses"][0];
    assert_eq!(response["id"], "f1", "{told}");
    assert_eq!(response["response"], json!({"ok": true}));
}

/// The tools of many clients that left would otherwise fill the memory until `keep` has passed.
#[tokio::test]
async fn session_of_a_client_that_left_leaves_memory() {
    let mut bench = Bench::start().await;
    let session = [("x-recount-session", "s1")];
    let (client, mut vendor) = bench.connected_with("ada", &session, json!({})).await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    let engine = bench.engine.clone();
    let has_tools = || engine.has_client_tool("refund", &[].into());
    assert!(has_tools());
    let updates = bench.engine.subscribe();
    client.drop_connection();
    bench.recorded(updates, "disconnected").await;
    let gone = async {
        while has_tools() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(GRACE, gone).await.unwrap();
    // The question is still there, and its call reaches the client that returns.
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    let (mut client, _vendor) = bench.connected_with("ada", &session, json!({})).await;
    let delivered = client.next_json().await;
    assert_eq!(delivered["toolCall"]["functionCalls"][0]["id"], "f1");
    assert!(has_tools() && bench.sessions().await.len() == 1);
}
