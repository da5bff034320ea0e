//! Sessions that stop under their connection: the answers of the client, and what the vendor is
//! told.

use std::sync::Arc;

use recount::journal::{Journal, MemoryJournal};
use recount::prelude::*;
use recount_gateway::{AnyCredential, Settings};

use crate::bench::{Bench, POLICIES, Side, agent, alone, answer, call, calls};

const HELLO: &str = r#"{"realtimeInput":{"activityEnd":{}}}"#;

const USAGE: &str = r#"{"usageMetadata":{}}"#;

/// A client that has the calls `f1` of `look_up` and `f2` of `refund`, which was acknowledged.
async fn with_both(bench: &mut Bench) -> (Side, Side) {
    let (mut client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[call("f1", "look_up")])).await;
    client.next_text().await;
    vendor.binary(&calls(&[call("f2", "refund")])).await;
    vendor.next_json().await;
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    assert_eq!(client.next_text().await, alone(&call("f2", "refund")));
    (client, vendor)
}

/// Checks that the vendor gets nothing before what the client sends now.
async fn nothing_for_vendor(client: &mut Side, vendor: &mut Side) {
    client.text(HELLO).await;
    assert_eq!(vendor.next_text().await, HELLO);
}

/// The outcome of a held call can be recorded still, so it is recorded, and then passes.
#[tokio::test]
async fn answers_pass_after_a_session_has_let_go() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = with_both(&mut bench).await;
    let session = bench.session_of_connection().await;
    let handle = bench.engine.reopen(session).await.unwrap();
    handle.disconnect().await.unwrap();
    client.text(&answer("f2", "refund")).await;
    let told = vendor.next_text().await;
    assert!(
        told.contains("[tool outcome]") && told.contains(r#"\"ok\":true"#),
        "{told}"
    );
    let kinds = bench.kinds(session).await;
    assert!(kinds.contains(&"outcome_found"), "{kinds:?}");
    client.text(&answer("f1", "look_up")).await;
    assert_eq!(vendor.next_text().await, answer("f1", "look_up"));
    for (id, name) in [("f1", "look_up"), ("f2", "refund")] {
        client.text(&answer(id, name)).await;
    }
    nothing_for_vendor(&mut client, &mut vendor).await;
}

#[tokio::test]
async fn observed_answer_passes_after_the_session_was_closed() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = with_both(&mut bench).await;
    let session = bench.session_of_connection().await;
    let by = Actor::token("ada");
    bench
        .engine
        .close_session(session, "enough", by)
        .await
        .unwrap();
    client.text(&answer("f1", "look_up")).await;
    client.text(&answer("f2", "refund")).await;
    let told = [vendor.next_text().await, vendor.next_text().await];
    assert!(told.contains(&answer("f1", "look_up")), "{told:?}");
    let unknown = told.iter().find(|it| it.contains("unknown_outcome"));
    assert!(
        unknown.is_some_and(|it| it.contains("refund") && it.contains("f2")),
        "{told:?}"
    );
    client.text(&answer("f1", "look_up")).await;
    nothing_for_vendor(&mut client, &mut vendor).await;
}

/// A client that has both calls, and a journal that fails from then on.
async fn failed(pass_observed: bool) -> (Bench, Side, Side) {
    let journal = Arc::new(MemoryJournal::new());
    let engine = Engine::in_memory().journal(journal.clone());
    let engine = engine.agent("desk", agent(POLICIES)).open().await.unwrap();
    let settings = |it| Settings {
        pass_observed,
        ..it
    };
    let mut bench = Bench::with(engine, Arc::new(AnyCredential), settings).await;
    let sides = with_both(&mut bench).await;
    journal.close().await.unwrap();
    (bench, sides.0, sides.1)
}

/// The vendor does not get the answer to the held call, and hears that the outcome is unknown, as
/// the record will say.
#[tokio::test]
async fn unrecorded_answer_to_a_held_call_is_not_passed() {
    for pass_observed in [false, true] {
        let (_bench, mut client, mut vendor) = failed(pass_observed).await;
        client.text(&answer("f2", "refund")).await;
        let told = vendor.next_json().await;
        assert!(told["clientContent"].is_object(), "{told}");
        let told = told.to_string();
        assert!(
            told.contains("unknown_outcome") && told.contains("f2"),
            "{told}"
        );
        client.text(&answer("f1", "look_up")).await;
        assert_eq!(vendor.next_text().await, answer("f1", "look_up"));
        nothing_for_vendor(&mut client, &mut vendor).await;
    }
}

#[tokio::test]
async fn calls_are_refused_after_the_journal_has_failed() {
    let (_bench, mut client, mut vendor) = failed(false).await;
    for (id, tool) in [("f3", "look_up"), ("f4", "refund"), ("f5", "server_time")] {
        vendor.binary(&calls(&[call(id, tool)])).await;
        let told = vendor.next_json().await;
        let response = &told["toolResponse"]["functionResponses"][0];
        assert_eq!(response["id"], id, "{told}");
        assert_eq!(response["response"]["kind"], "not_recorded");
    }
    vendor.binary(USAGE).await;
    assert_eq!(client.next_text().await, USAGE);
}

#[tokio::test]
async fn observed_calls_pass_by_choice_after_the_journal_has_failed() {
    let (_bench, mut client, mut vendor) = failed(true).await;
    let (free, held) = (call("f3", "look_up"), call("f4", "refund"));
    vendor.binary(&calls(&[free.clone(), held])).await;
    assert_eq!(client.next_text().await, alone(&free));
    let told = vendor.next_json().await;
    assert_eq!(told["toolResponse"]["functionResponses"][0]["id"], "f4");
    client.text(&answer("f3", "look_up")).await;
    assert_eq!(vendor.next_text().await, answer("f3", "look_up"));
    client.text(&answer("f3", "look_up")).await;
    nothing_for_vendor(&mut client, &mut vendor).await;
}

/// A held call that was acknowledged, and one of the agent's own, when the session stops.
#[tokio::test]
async fn waiting_calls_end_when_the_session_stops() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    let session = bench.session_of_connection().await;
    let handle = bench.engine.reopen(session).await.unwrap();
    handle.disconnect().await.unwrap();
    let told = vendor.next_json().await;
    assert!(told["clientContent"].is_object(), "{told}");
    assert!(told.to_string().contains("not_recorded"), "{told}");
    client.text(&answer("f1", "refund")).await;
    nothing_for_vendor(&mut client, &mut vendor).await;
}
