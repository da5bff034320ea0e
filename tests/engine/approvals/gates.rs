//! Gates that a closure decides. The verdict is recorded before an approver is asked and before a
//! tool runs.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::store;
use recount::prelude::*;
use recount::session::{Event, Observation, Outcome, Seq};
use recount::testing::ScriptedModel;
use recount::tool::{State, StaticConfirmation};
use serde_json::Value;

const ONE_CALL: &str = r#"
{"on": {"text": "go"}, "send": [{"call": [{"id": "c", "name": "refund", "args": {"amount": 5000}}]}]}
"#;

/// The number of runs.
type Till = Arc<AtomicUsize>;

fn refund(till: &Till) -> Toolset {
    let till = till.clone();
    T::simple("refund", "Refunds", move |_| {
        till.fetch_add(1, Ordering::SeqCst);
        async { Ok(json!({"refunded": true})) }
    })
}

async fn above(limit: i64, args: Value) -> bool {
    args.get("amount").and_then(Value::as_i64) > Some(limit)
}

async fn serving(place: &Path, tools: Toolset) -> Engine {
    let agent = Agent::new()
        .model("m")
        .tools(tools)
        .connect_to(ScriptedModel::parse(ONE_CALL).unwrap());
    let engine = store::engine(place).agent("support", agent);
    engine.open().await.unwrap()
}

/// Calls the tool, and waits until an event of this kind is recorded.
async fn called(engine: &Engine, until: &str) -> LiveHandle {
    let live = engine.session("support").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let reached = updates.wait_for(|event| event.kind() == until);
    reached.await.unwrap();
    live
}

/// The recorded verdicts: whether the gate holds, or why the closure failed.
async fn verdicts(engine: &Engine, session: SessionId) -> Vec<(Option<bool>, Option<String>)> {
    let facts = engine.ledger().facts(session, Seq(1), 100).await.unwrap();
    let of_gate = facts.into_iter().filter_map(|fact| match fact.event {
        Event::Observed(Observation::HookAnswered(it)) => Some((it.gated, it.failure)),
        Event::Observed(_) | Event::Decided(_) => None,
    });
    of_gate.collect()
}

async fn outcome(engine: &Engine, session: SessionId) -> Outcome {
    loop {
        let loaded = engine.ledger().load(session).await.unwrap().session;
        if let Some(settled) = loaded.settled.values().next() {
            return settled.outcome;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn gate_closure_decides_on_approval_and_is_recorded() {
    for (limit, gated) in [(1_000, true), (10_000, false)] {
        let (place, till) = (tempfile::tempdir().unwrap(), Till::default());
        let tool = T::confirm_when_fn(refund(&till), "Refund so much?", move |args, _: State| {
            above(limit, args)
        });
        let engine = serving(place.path(), tool).await;
        let until = if gated {
            "confirmation_requested"
        } else {
            "response_issued"
        };
        let live = called(&engine, until).await;
        let session = live.session_id();
        assert_eq!(verdicts(&engine, session).await, [(Some(gated), None)]);
        assert_eq!(till.load(Ordering::SeqCst), usize::from(!gated));
        if let Some(asked) = engine.pending().await.unwrap().pop() {
            assert_eq!(asked.hint.as_deref(), Some("Refund so much?"));
            let yes = ToolConfirmation::confirmed();
            let by = Actor::embedder("ada");
            engine.answer(asked.id, yes, by).await.unwrap();
        }
        assert_eq!(outcome(&engine, session).await, Outcome::Returned);
        assert_eq!(verdicts(&engine, session).await.len(), 1, "asked once");
        assert_eq!(till.load(Ordering::SeqCst), 1);
        engine.shutdown(Duration::ZERO).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_closure_that_panics_or_hangs_closes_the_gate() {
    let (place, till) = (tempfile::tempdir().unwrap(), Till::default());
    let panics = |_: Value, _: State| -> std::future::Ready<bool> { panic!("it is broken") };
    let tool = T::confirm_when_fn(refund(&till), "Refund?", panics);
    let engine = serving(place.path(), tool).await;
    let live = called(&engine, "confirmation_requested").await;
    let told = verdicts(&engine, live.session_id()).await;
    let panicked = "the predicate of the gate failed: it panicked".to_owned();
    assert_eq!(told, [(None, Some(panicked))]);
    engine.shutdown(Duration::ZERO).await.unwrap();

    let place = tempfile::tempdir().unwrap();
    let tool = T::confirm_when_fn(refund(&till), "Refund?", |_, _| std::future::pending());
    let engine = serving(place.path(), tool).await;
    let live = called(&engine, "confirmation_requested").await;
    let told = verdicts(&engine, live.session_id()).await;
    let hung = "the predicate of the gate failed: it took too long".to_owned();
    assert_eq!(told, [(None, Some(hung))]);
    assert_eq!(till.load(Ordering::SeqCst), 0);
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn gate_closure_cut_off_by_restart_runs_again_without_doubt() {
    let (place, till) = (tempfile::tempdir().unwrap(), Till::default());
    let tool = T::confirm_when_fn(refund(&till), "Refund?", |_, _| std::future::pending());
    let engine = serving(place.path(), tool).await;
    let session = called(&engine, "policy_decided").await.session_id();
    // A shutdown does not wait for the closure, however long its grace is.
    engine.shutdown(Duration::from_secs(600)).await.unwrap();
    let tool = T::confirm_when_fn(refund(&till), "Refund?", |args, _| above(10_000, args));
    let engine = serving(place.path(), tool).await;
    assert_eq!(outcome(&engine, session).await, Outcome::Returned);
    assert_eq!(verdicts(&engine, session).await, [(Some(false), None)]);
    assert_eq!(till.load(Ordering::SeqCst), 1);
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn a_dispatcher_alone_asks_the_closure_and_then_its_provider() {
    let till = Till::default();
    let tool = || T::confirm_when_fn(refund(&till), "Refund?", |args, _| above(1_000, args));
    let mut tools = ToolDispatcher::new();
    tools.register(tool()).unwrap();
    tools.set_confirmation_provider(StaticConfirmation::deny_all("too much"));
    let small = tools.call_function("refund", json!({"amount": 5})).await;
    assert_eq!(small, Ok(json!({"refunded": true})));
    let large = tools.call_function("refund", json!({"amount": 5000})).await;
    assert!(matches!(large, Err(ToolError::Cancelled(_))), "{large:?}");
    // With two closures on one tool, either closes the gate.
    let either = T::confirm_when_fn(tool(), "Really?", |_, _| async { true });
    let mut tools = ToolDispatcher::new();
    tools.register(either).unwrap();
    tools.set_confirmation_provider(StaticConfirmation::deny_all("too much"));
    let small = tools.call_function("refund", json!({"amount": 5})).await;
    assert!(matches!(small, Err(ToolError::Cancelled(_))), "{small:?}");
    assert_eq!(till.load(Ordering::SeqCst), 1);
}

#[test]
fn policy_naming_missing_closure_is_rejected() {
    let mut policy = ToolPolicy::gate("Refund?");
    policy.gate_terms.asks_program = true;
    let tool = T::policy(refund(&Till::default()), policy);
    let refused = ToolDispatcher::new().register(tool).err().unwrap();
    assert!(refused.to_string().contains("confirm_when_fn"), "{refused}");
}
