//! Restarts, journals that do not write, and connections that take over.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use recount::prelude::*;
use recount::testing::{StuckJournal, SurvivingJournal};
use recount::tool::policy_file;
use recount_gateway::AnyCredential;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::bench::{Bench, POLICIES, SETUP_COMPLETE, agent, alone, answer, call, calls};
use crate::forgeries::{HELLO, history};

const NAMED: [(&str, &str); 1] = [("x-recount-session", "s1")];

const USAGE: &str = r#"{"usageMetadata":{}}"#;

/// A process over a journal, and the index in a directory.
async fn process(journal: &Arc<SurvivingJournal>, directory: &Path) -> Bench {
    let engine = Engine::in_memory().journal(journal.clone());
    let engine = engine.agent("desk", agent(POLICIES)).open().await.unwrap();
    let index = directory.join("index");
    Bench::with(engine, Arc::new(AnyCredential), |mut it| {
        it.index = Some(index);
        it
    })
    .await
}

#[tokio::test]
async fn next_process_ends_claims_and_finds_the_session() {
    let directory = tempfile::tempdir().unwrap();
    let journal = SurvivingJournal::new();
    let mut killed = process(&journal, directory.path()).await;
    let (mut client, mut vendor) = killed.connected_with("ada", &NAMED, json!({})).await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    killed.answer("refund", ToolConfirmation::confirmed()).await;
    assert_eq!(client.next_text().await, alone(&call("f1", "refund")));
    vendor.binary(&calls(&[call("f2", "wipe")])).await;
    vendor.next_json().await;
    // Its connections stay as they are, so it writes nothing more.
    let mut bench = process(&journal, directory.path()).await;
    assert_eq!(bench.count("claim_ended").await, 1);
    // Approved while no client is connected, and delivered to the next one alone.
    bench.answer("wipe", ToolConfirmation::confirmed()).await;
    let (mut client, mut vendor) = bench.connected_with("ada", &NAMED, json!({})).await;
    let delivered = client.next_json().await;
    assert_eq!(delivered["toolCall"]["functionCalls"][0]["id"], "f2");
    client.text(&answer("f2", "wipe")).await;
    let told = [vendor.next_text().await, vendor.next_text().await].concat();
    assert!(told.contains("unknown"), "{told}");
    vendor.binary(USAGE).await;
    assert_eq!(client.next_text().await, USAGE);
    assert_eq!(bench.sessions().await.len(), 1);
    // The answer to the call of the killed process still settles the doubt, once.
    client.text(&answer("f1", "refund")).await;
    let found = vendor.next_text().await;
    assert!(found.contains("[tool outcome]"), "{found}");
    client.text(&answer("f1", "refund")).await;
    client.text(USAGE).await;
    assert_eq!(vendor.next_text().await, USAGE);
    assert_eq!(bench.count("outcome_found").await, 1);
}

#[tokio::test]
async fn answer_of_a_client_that_closes_at_once_is_on_record() {
    let mut bench = Bench::start().await;
    for tool in ["look_up", "refund"] {
        let (mut client, mut vendor) = bench.connected("k").await;
        vendor.binary(&calls(&[call("f1", tool)])).await;
        if tool == "refund" {
            vendor.next_json().await;
            bench.answer(tool, ToolConfirmation::confirmed()).await;
        }
        client.next_text().await;
        let updates = bench.engine.subscribe();
        client.text(&answer("f1", tool)).await;
        client.drop_connection();
        bench.recorded(updates, "disconnected").await;
        assert_eq!(bench.count("claim_ended").await, 0, "{tool}");
    }
}

#[tokio::test]
async fn later_connection_takes_the_session_over() {
    let mut bench = Bench::start().await;
    let (mut first, mut vendor) = bench.connected_with("ada", &NAMED, json!({})).await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    let (mut second, _vendor) = bench.connected_with("ada", &NAMED, json!({})).await;
    let close = first.closed().await;
    assert_eq!(close.map(|it| it.code.into()), Some(1000));
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    let delivered = second.next_json().await;
    assert_eq!(delivered["toolCall"]["functionCalls"][0]["id"], "f1");
    assert_eq!(bench.sessions().await.len(), 1);
}

#[tokio::test]
async fn connections_that_open_one_name_at_once_share_a_session() {
    let mut bench = Bench::start().await;
    let setup = r#"{"setup":{"model":"models/m"}}"#;
    let mut sides = Vec::new();
    for _ in 0..4 {
        let (mut client, mut vendor) = bench.opened("ada", &NAMED).await;
        client.text(setup).await;
        vendor.next_json().await;
        sides.push((client, vendor));
    }
    for (_, vendor) in &mut sides {
        vendor.binary(crate::bench::SETUP_COMPLETE).await;
    }
    let mut closed = 0;
    for (client, _) in &mut sides {
        client.next_text().await;
    }
    // All but one end, as another one continues.
    let ends = sides
        .iter_mut()
        .map(|(client, _)| Box::pin(client.closed()));
    let mut ends = ends.collect::<futures_util::stream::FuturesUnordered<_>>();
    while closed < 3 {
        let close = futures_util::StreamExt::next(&mut ends).await.unwrap();
        assert_eq!(close.map(|it| it.code.into()), Some(1000));
        closed += 1;
    }
    assert_eq!(bench.sessions().await.len(), 1);
}

/// A bench over a journal that can be stuck, with a client.
async fn stuck(pass_observed: bool) -> (Bench, Arc<StuckJournal>) {
    let journal = StuckJournal::new();
    let engine = Engine::in_memory().journal(journal.clone());
    let engine = engine.agent("desk", agent(POLICIES)).open().await.unwrap();
    let bench = Bench::with(engine, Arc::new(AnyCredential), |mut it| {
        it.pass_observed = pass_observed;
        it
    });
    (bench.await, journal)
}

/// Lets some seconds pass.
pub(crate) async fn seconds(count: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(count)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn calls_wait_for_a_journal_that_does_not_write() {
    let (mut bench, journal) = stuck(false).await;
    let (mut client, mut vendor) = bench.connected("k").await;
    journal.stick();
    let observed = calls(&[call("f1", "look_up")]);
    vendor.binary(&observed).await;
    vendor.binary(&calls(&[call("f2", "refund")])).await;
    vendor.binary(USAGE).await;
    assert_eq!(client.next_text().await, USAGE);
    seconds(3).await;
    vendor.binary(USAGE).await;
    assert_eq!(client.next_text().await, USAGE);
    journal.release();
    assert_eq!(client.next_text().await, observed);
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    assert_eq!(client.next_text().await, alone(&call("f2", "refund")));
}

/// A client restores its history while the calls of earlier connections cannot be known. Until they
/// are, its answers do not pass; what it says does.
#[tokio::test]
async fn journal_that_does_not_write_keeps_no_word_for_long() {
    let (mut bench, journal) = stuck(false).await;
    journal.stick();
    let (mut client, mut vendor) = bench.opened("ada", &NAMED).await;
    client.text(r#"{"setup":{"model":"models/m"}}"#).await;
    vendor.next_json().await;
    vendor.binary(SETUP_COMPLETE).await;
    client.next_text().await;
    client.text(&history("old", "refund")).await;
    client.text(HELLO).await;
    // All before the ping is read.
    client.send(Message::Ping(Vec::new().into())).await;
    while !matches!(client.next_frame().await, Some(Message::Pong(_))) {}
    vendor.send(Message::Ping(Vec::new().into())).await;
    assert!(matches!(vendor.next_frame().await, Some(Message::Pong(_))));
    seconds(11).await;
    assert_eq!(vendor.next_text().await, HELLO);
    client.text(HELLO).await;
    assert_eq!(vendor.next_text().await, HELLO);
}

/// Its answer waits behind its history, and the client closes before the calls are known.
#[tokio::test]
async fn answer_that_still_waits_as_its_client_closes_is_on_record() {
    let (mut bench, journal) = stuck(false).await;
    let (mut client, mut vendor) = bench.connected_with("ada", &NAMED, json!({})).await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    client.next_text().await;
    let updates = bench.engine.subscribe();
    client.drop_connection();
    bench.recorded(updates, "claim_ended").await;
    let (mut client, mut vendor) = bench.opened("ada", &NAMED).await;
    journal.stick();
    client.text(r#"{"setup":{"model":"models/m"}}"#).await;
    vendor.next_json().await;
    vendor.binary(SETUP_COMPLETE).await;
    client.next_text().await;
    let updates = bench.engine.subscribe();
    client.text(&history("old", "refund")).await;
    client.text(&answer("f1", "refund")).await;
    client.send(Message::Close(None)).await;
    client.closed().await;
    journal.release();
    bench.recorded(updates, "outcome_found").await;
}

#[tokio::test]
async fn observed_calls_may_pass_a_journal_that_does_not_write() {
    let (mut bench, journal) = stuck(true).await;
    let (mut client, mut vendor) = bench.connected("k").await;
    journal.stick();
    let observed = calls(&[call("f1", "look_up")]);
    vendor.binary(&observed).await;
    vendor.binary(&calls(&[call("f2", "refund")])).await;
    vendor.binary(USAGE).await;
    assert_eq!(client.next_text().await, USAGE);
    seconds(3).await;
    assert_eq!(client.next_text().await, observed);
    client.text(&answer("f1", "look_up")).await;
    assert_eq!(vendor.next_text().await, answer("f1", "look_up"));
    journal.release();
    bench.answer("refund", ToolConfirmation::confirmed()).await;
    // Nothing is delivered twice.
    assert_eq!(client.next_text().await, alone(&call("f2", "refund")));
    bench.gateway.ended(Duration::ZERO).await;
    let gaps = bench.engine.ledger().passed_calls().await.unwrap();
    assert_eq!(gaps.iter().map(|it| it.calls).sum::<u64>(), 1);
    assert_eq!(bench.count("call_claimed").await, 2);
}

#[tokio::test]
async fn dry_run_holds_nothing_and_passes_all_answers() {
    let engine = Engine::in_memory().agent("desk", agent(POLICIES));
    let engine = engine.open().await.unwrap();
    let mut bench = Bench::with(engine, Arc::new(AnyCredential), |mut it| {
        it.dry_run = true;
        it
    })
    .await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let both = calls(&[call("f1", "refund"), call("f2", "look_up")]);
    vendor.binary(&both).await;
    assert_eq!(client.next_text().await, both);
    for (id, name) in [("f1", "refund"), ("f2", "look_up")] {
        client.text(&answer(id, name)).await;
        assert_eq!(vendor.next_text().await, answer(id, name));
    }
    client.text(&answer("f1", "refund")).await;
    client.text(r#"{"realtimeInput":{"text":"x"}}"#).await;
    assert_eq!(
        vendor.next_text().await,
        r#"{"realtimeInput":{"text":"x"}}"#
    );
}

#[tokio::test]
async fn changed_policies_hold_the_next_call() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let before = calls(&[call("f1", "look_up")]);
    vendor.binary(&before).await;
    assert_eq!(client.next_text().await, before);
    let file = policy_file::parse(r#"{"tools": {"look_up": {"confirm": "Look?"}}}"#);
    let changed = bench.engine.change_policies("desk", vec![file.unwrap()]);
    changed.await.unwrap();
    vendor.binary(&calls(&[call("f2", "look_up")])).await;
    vendor.next_json().await;
    // The answer to the call before the change passes once.
    client.text(&answer("f1", "look_up")).await;
    assert_eq!(vendor.next_text().await, answer("f1", "look_up"));
    bench.answer("look_up", ToolConfirmation::confirmed()).await;
    assert_eq!(client.next_text().await, alone(&call("f2", "look_up")));
}

#[tokio::test]
async fn context_update_replaces_the_tools() {
    let mut bench = Bench::start().await;
    let (mut client, mut vendor) = bench.connected("k").await;
    let tools = r#"[{"functionDeclarations":[{"name":"server_time"}]}]"#;
    let update = format!(r#"{{"contextUpdate":{{"tools":{{"tools":{tools}}}}}}}"#);
    client.text(&update).await;
    assert_eq!(vendor.next_text().await, update);
    // The client's own function has the name of a hosted one now.
    let own = calls(&[call("f1", "server_time")]);
    vendor.binary(&own).await;
    assert_eq!(client.next_text().await, own);
    client.text(&answer("f1", "server_time")).await;
    assert_eq!(vendor.next_text().await, answer("f1", "server_time"));
    vendor.binary(&calls(&[call("f2", "look_up")])).await;
    let refused = vendor.next_json().await;
    assert_eq!(refused["toolResponse"]["functionResponses"][0]["id"], "f2");
}

#[tokio::test]
async fn client_gets_the_arguments_that_the_approver_edited() {
    let policies = r#"{"tools": {"refund": {"confirm": "Refund?", "confirm_edits": "allowed"}}}"#;
    let engine = Engine::in_memory().agent("desk", agent(policies));
    let mut bench = Bench::over(engine.open().await.unwrap()).await;
    let (mut client, mut vendor) = bench.connected("k").await;
    vendor.binary(&calls(&[call("f1", "refund")])).await;
    vendor.next_json().await;
    let edited = ToolConfirmation::confirmed().with_args(json!({"n": 1}));
    bench.answer("refund", edited).await;
    let delivered = client.next_json().await;
    let call = &delivered["toolCall"]["functionCalls"][0];
    assert_eq!(
        *call,
        json!({"id": "f1", "name": "refund", "args": {"n": 1}})
    );
}
