//! Policies that change between a call, its answer and their records.

use std::sync::Arc;

use recount::prelude::*;
use recount::testing::StuckJournal;
use recount::tool::policy_file;
use recount_gateway::{AnyCredential, Settings};

use crate::bench::{Bench, POLICIES, Side, agent, alone, answer, call, calls};
use crate::faults::seconds;

const HELLO: &str = r#"{"realtimeInput":{"activityEnd":{}}}"#;

const HOLD_LOOK_UP: &str = r#"{"tools": {"look_up": {"confirm": "Look it up?"}}}"#;

async fn stuck(pass_observed: bool) -> (Bench, Arc<StuckJournal>) {
    let journal = StuckJournal::new();
    let engine = Engine::in_memory().journal(journal.clone());
    let engine = engine.agent("desk", agent(POLICIES)).open().await.unwrap();
    let bench = Bench::with(engine, Arc::new(AnyCredential), |it| Settings {
        pass_observed,
        ..it
    });
    (bench.await, journal)
}

/// The next messages to the vendor until one that the client sends now.
async fn told(client: &mut Side, vendor: &mut Side) -> Vec<String> {
    let mut told = Vec::new();
    client.text(HELLO).await;
    loop {
        let message = vendor.next_text().await;
        if message == HELLO {
            return told;
        }
        told.push(message);
    }
}

/// The client answers a held and an observed call while the journal is stuck, and the policies
/// change before their record.
#[tokio::test]
async fn change_between_an_answer_and_its_record_drops_neither() {
    for changed in [r#"{"tools": {}}"#, HOLD_LOOK_UP] {
        let (mut bench, journal) = stuck(false).await;
        let (mut client, mut vendor) = bench.connected("k").await;
        vendor.binary(&calls(&[call("f1", "look_up")])).await;
        client.next_text().await;
        vendor.binary(&calls(&[call("f2", "refund")])).await;
        vendor.next_json().await;
        bench.answer("refund", ToolConfirmation::confirmed()).await;
        assert_eq!(client.next_text().await, alone(&call("f2", "refund")));
        journal.stick();
        client.text(&answer("f2", "refund")).await;
        client.text(&answer("f1", "look_up")).await;
        assert_eq!(vendor.next_text().await, answer("f1", "look_up"));
        let changing = tokio::spawn({
            let engine = bench.engine.clone();
            let file = policy_file::parse(changed).unwrap();
            async move { engine.change_policies("desk", vec![file]).await }
        });
        // The relay reads the policies with the next call.
        vendor.binary(&calls(&[call("f3", "wipe")])).await;
        client.text(HELLO).await;
        assert_eq!(vendor.next_text().await, HELLO);
        journal.release();
        changing.await.unwrap().unwrap();
        let outcome = loop {
            let message = vendor.next_text().await;
            if message.contains("f2") || message.contains("refund") {
                break message;
            }
        };
        assert!(outcome.contains(r#"\"ok\":true"#), "{changed}: {outcome}");
        let rest = told(&mut client, &mut vendor).await;
        assert!(
            !rest.iter().any(|it| it.contains("f1")),
            "{changed}: {rest:?}"
        );
    }
}

/// A call passes while the journal is stuck, and a policy holds it before it is on record. The
/// client gets it once, and its answer is the outcome.
#[tokio::test]
async fn call_that_passed_and_is_held_by_now_is_delivered_once() {
    for answered_early in [true, false] {
        let (mut bench, journal) = stuck(true).await;
        let (mut client, mut vendor) = bench.connected("k").await;
        bench.session_of_connection().await;
        journal.stick();
        let passed = calls(&[call("f1", "look_up")]);
        vendor.binary(&passed).await;
        vendor.binary(r#"{"usageMetadata":{}}"#).await;
        client.next_text().await;
        seconds(3).await;
        assert_eq!(client.next_text().await, passed);
        if answered_early {
            client.text(&answer("f1", "look_up")).await;
            assert_eq!(vendor.next_text().await, answer("f1", "look_up"));
        }
        let changing = tokio::spawn({
            let engine = bench.engine.clone();
            let file = policy_file::parse(HOLD_LOOK_UP).unwrap();
            async move { engine.change_policies("desk", vec![file]).await }
        });
        tokio::task::yield_now().await;
        let updates = bench.engine.subscribe();
        journal.release();
        changing.await.unwrap().unwrap();
        bench.recorded(updates, "function_call_received").await;
        if bench.engine.pending().await.unwrap().is_empty() {
            // Recorded before the change. Nothing to see.
            continue;
        }
        bench.answer("look_up", ToolConfirmation::confirmed()).await;
        if !answered_early {
            client.text(&answer("f1", "look_up")).await;
        }
        vendor.binary(&calls(&[call("f2", "wipe")])).await;
        vendor.binary(r#"{"usageMetadata":{}}"#).await;
        assert_eq!(client.next_text().await, r#"{"usageMetadata":{}}"#);
        assert_eq!(bench.count("call_claimed").await, 1);
    }
}
