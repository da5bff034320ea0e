//! Resumption handles that lead elsewhere than the credential or the name of their client.

use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use recount::prelude::*;
use recount::testing::StuckJournal;
use recount_gateway::{Admitted, Credentials, Entrance, Permission, Refused, Settings, VendorKey};
use serde_json::{Value, json};

use crate::bench::{Bench, POLICIES, Side, agent, alone, call, calls};

/// Tokens, each of a name of its own.
struct Tokens;

#[async_trait]
impl Entrance for Tokens {
    async fn admit(
        &self,
        credential: Option<&str>,
        _: Option<IpAddr>,
    ) -> Result<Admitted, Refused> {
        let token = credential.ok_or(Refused::Unauthenticated)?;
        Ok(Admitted::new(Actor::token(token), token).with(Permission::any()))
    }
}

/// A gateway whose vendor knows its clients by one key.
async fn with_tokens() -> Bench {
    let engine = Engine::in_memory().agent("desk", agent(POLICIES));
    let engine = engine.open().await.unwrap();
    let vendor_key = VendorKey::new("k");
    let settings = |it| Settings {
        credentials: Credentials::Tokens { vendor_key },
        ..it
    };
    Bench::with(engine, Arc::new(Tokens), settings).await
}

fn resuming(handle: &str) -> Value {
    json!({"sessionResumption": {"handle": handle}})
}

/// Gives the client a handle.
async fn with_handle((client, vendor): &mut (Side, Side), handle: &str) {
    let update = json!({"sessionResumptionUpdate": {"newHandle": handle, "resumable": true}});
    vendor.binary(&update.to_string()).await;
    assert_eq!(client.next_json().await, update);
}

/// Connects a client whose setup is refused with this reason, and does not reach the vendor.
async fn is_refused(
    bench: &mut Bench,
    key: &str,
    headers: &[(&'static str, &str)],
    handle: &str,
    reason: &str,
) {
    let (mut client, mut vendor) = bench.opened(key, headers).await;
    let mut setup = resuming(handle);
    setup["model"] = "models/gemini-3.8-live".into();
    client.text(&json!({ "setup": setup }).to_string()).await;
    let close = client.closed().await.unwrap();
    let told = (u16::from(close.code), close.reason.as_str());
    assert_eq!(told, (1008, reason));
    let next = vendor.next().await;
    let is_close = next.as_ref().is_some_and(|it| it.is_close());
    assert!(is_close, "{next:?}");
}

#[tokio::test]
async fn handle_of_another_token_does_not_reach_the_vendor() {
    let mut bench = with_tokens().await;
    let mut sides = bench.connected("ada").await;
    with_handle(&mut sides, "h1").await;
    let reason = "the resumption handle is not one of this token";
    is_refused(&mut bench, "eve", &[], "h1", reason).await;
    let named = [("x-recount-session", "s1")];
    is_refused(&mut bench, "eve", &named, "h1", reason).await;
    // Its own client continues with it, and one that no client of this gateway got passes.
    let _own = bench.connected_with("ada", &[], resuming("h1")).await;
    let _unknown = bench.connected_with("eve", &[], resuming("h9")).await;
}

/// Gemini sends one thing a message, and no escapes. Another vendor may not.
#[tokio::test]
async fn handle_beside_a_call_or_with_escapes_is_that_of_its_token() {
    let mut bench = with_tokens().await;
    let (mut client, mut vendor) = bench.connected("ada").await;
    let update = r#""sessionResumptionUpdate": {"newHandle": "h1", "resumable": true}"#;
    let beside = calls(&[call("c1", "look_up")]).replacen('{', &format!("{{{update}, "), 1);
    let escaped = r#"{"sessionResumptionUpdate": {"new\u0048andle": "h2", "resumable": true}}"#;
    for update in [beside.as_str(), escaped] {
        vendor.binary(update).await;
        client.next_json().await;
    }
    let reason = "the resumption handle is not one of this token";
    for handle in ["h1", "h2"] {
        is_refused(&mut bench, "eve", &[], handle, reason).await;
    }
}

/// The vendor would continue one conversation, and the gateway the session of another.
#[tokio::test]
async fn name_and_handle_of_two_sessions_are_refused() {
    let mut bench = Bench::start().await;
    let named = |name| [("x-recount-session", name)];
    let (one, two) = (named("s1"), named("s2"));
    let mut first = bench.connected_with("k", &one, json!({})).await;
    with_handle(&mut first, "h1").await;
    first.1.binary(&calls(&[call("b", "refund")])).await;
    first.1.next_json().await;
    let updates = bench.engine.subscribe();
    let _second = bench.connected_with("k", &two, json!({})).await;
    bench.recorded(updates, "connected").await;
    let reason = "x-recount-session and the resumption handle lead to two sessions";
    is_refused(&mut bench, "k", &two, "h1", reason).await;
    assert_eq!(bench.sessions().await.len(), 2);
    // The handle leads where it did.
    let updates = bench.engine.subscribe();
    let (mut client, _vendor) = bench.connected_with("k", &[], resuming("h1")).await;
    bench.recorded(updates, "connected").await;
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    let held = r#"{"id":"b","name":"refund","args":{"n":1.50}}"#;
    assert_eq!(client.next_text().await, alone(held));
    // So do a new name and the handle together.
    let _again = bench
        .connected_with("k", &named("s3"), resuming("h1"))
        .await;
}

/// The handle comes from a session that is not open yet, so the setup cannot be compared with it.
#[tokio::test]
async fn name_and_handle_that_turn_out_to_disagree_continue_nothing() {
    let journal = StuckJournal::new();
    let engine = Engine::in_memory().journal(journal.clone());
    let engine = engine.agent("desk", agent(POLICIES)).open().await.unwrap();
    let mut bench = Bench::over(engine).await;
    let named = [("x-recount-session", "s2")];
    let updates = bench.engine.subscribe();
    let _second = bench.connected_with("k", &named, json!({})).await;
    bench.recorded(updates, "connected").await;
    journal.stick();
    let mut first = bench.connected("k").await;
    with_handle(&mut first, "h1").await;
    let (_client, mut vendor) = bench.connected_with("k", &named, resuming("h1")).await;
    journal.release();
    vendor.binary(&calls(&[call("f1", "look_up")])).await;
    let refused = vendor.next_text().await;
    assert!(refused.contains("could not be recorded"), "{refused}");
    // The handle leads to the session that got it.
    let updates = bench.engine.subscribe();
    let _again = bench.connected_with("k", &[], resuming("h1")).await;
    bench.recorded(updates, "connected").await;
    assert_eq!(bench.sessions().await.len(), 2);
    first.1.closed().await;
}
