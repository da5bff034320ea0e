//! The tools of a session change while it lives: nothing is put in doubt, contracts are compared,
//! and a model learns of it with its next connection.
#![expect(
    clippy::async_yields_async,
    reason = "the task is spawned on the runtime of the process under test"
)]

use std::sync::Arc;
use std::time::Duration;

use recount::audit::{Filter, decisions};
use recount::engine::Error;
use recount::fixture::Fixture;
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::replay;
use recount::session::{Outcome, Phase, Retry, ToolPolicy};
use recount::testing::{Life, ScriptedModel};
use recount::tool::{Ask, ToolChanges};
use tokio::sync::Semaphore;

use crate::journal;
use crate::restart::world::{World, approve, is, resume, wait, waiting};

fn pipeline() -> Actor {
    Actor::embedder("pipeline")
}

fn tool(name: &'static str) -> Toolset {
    T::simple(
        name,
        "Works",
        move |_| async move { Ok(json!({ "by": name })) },
    )
}

/// A tool that runs once the gate has a permit.
fn slow(name: &'static str, gate: &Arc<Semaphore>) -> Toolset {
    let gate = gate.clone();
    T::simple(name, "Works slowly", move |_| {
        let gate = gate.clone();
        async move {
            let _ = gate.acquire().await;
            Ok(json!({ "by": name }))
        }
    })
}

async fn opened(tools: impl Into<Toolset>) -> LiveHandle {
    let agent = Agent::new().tools(tools).strict();
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    engine.session("a").open().await.unwrap()
}

async fn lawful(live: &LiveHandle) {
    let (ledger, id) = (live.engine().ledger(), live.session_id());
    journal::assert_lawful(ledger, id).await;
    let verified = replay::verify(ledger, id).await.unwrap();
    assert_eq!(verified.diverged, None);
}

async fn called(live: &LiveHandle, name: &str) -> Result<Value, ToolError> {
    live.call_function(name, json!({}), pipeline()).await
}

#[tokio::test]
async fn running_call_of_a_removed_tool_ends_as_usual() {
    let gate = Arc::new(Semaphore::new(0));
    let live = opened(slow("look", &gate) | tool("pay")).await;
    let mut updates = live.subscribe();
    let runs = live.clone();
    let looks = tokio::spawn(async move { called(&runs, "look").await });
    updates.wait_for(is("call_started")).await.unwrap();
    let changes = ToolChanges::new().with(tool("ship")).without("look");
    let at = live.change_tools(changes).await.unwrap();
    assert!(at.is_some());
    let refused = called(&live, "look").await;
    assert!(
        matches!(refused, Err(ToolError::NotFound(_))),
        "{refused:?}"
    );
    assert_eq!(called(&live, "ship").await, Ok(json!({"by": "ship"})));
    gate.add_permits(1);
    assert_eq!(looks.await.unwrap(), Ok(json!({"by": "look"})));
    let session = live.session().await.unwrap();
    let attempts = session.settled.values().map(|it| it.attempts).max();
    assert_eq!((session.rules, attempts), (2, Some(1)));
    lawful(&live).await;
}

#[tokio::test]
async fn change_without_an_effect_is_not_recorded() {
    let live = opened(tool("look")).await;
    let same = live
        .change_tools(ToolChanges::new().with(tool("look")))
        .await;
    assert_eq!(same.unwrap(), None);
    assert_eq!(live.session().await.unwrap().rules, 1);
}

#[tokio::test]
async fn mistaken_change_changes_nothing() {
    let live = opened(tool("look")).await;
    for (changes, told) in [
        (
            ToolChanges::new().without("lock").with(tool("ship")),
            "\"lock\"",
        ),
        (ToolChanges::new().with(tool("no name")), "no name"),
    ] {
        let refused = live.change_tools(changes).await;
        let Err(Error::Configuration { mistakes }) = refused else {
            panic!("{refused:?}");
        };
        assert!(mistakes[0].contains(told), "{mistakes:?}");
    }
    assert!(called(&live, "ship").await.is_err());
    assert_eq!(called(&live, "look").await, Ok(json!({"by": "look"})));
    live.close("done", pipeline()).await.unwrap();
    let closed = live
        .change_tools(ToolChanges::new().with(tool("ship")))
        .await;
    assert!(matches!(closed, Err(Error::Refused(_))), "{closed:?}");
}

/// An approval covers the contract: a changed one is asked about again, an equal one is not.
#[tokio::test]
async fn waiting_request_follows_its_contract() {
    let live = opened(T::confirm(tool("pay"), "Pay?")).await;
    let mut updates = live.subscribe();
    let runs = live.clone();
    let pays = tokio::spawn(async move { called(&runs, "pay").await });
    updates
        .wait_for(is("confirmation_requested"))
        .await
        .unwrap();
    let first = live.pending().await.unwrap()[0].id;
    live.change_tools(ToolChanges::new().with(tool("look")))
        .await
        .unwrap();
    assert_eq!(live.pending().await.unwrap()[0].id, first);
    let schema = json!({"type": "object", "properties": {"cents": {"type": "integer"}}});
    let stricter = T::simple_with("pay", "Pays", schema, |_| async {
        Ok(json!({"by": "new"}))
    });
    let changes = ToolChanges::new().with(T::confirm(stricter, "Pay?"));
    live.change_tools(changes).await.unwrap();
    let anew = live.pending().await.unwrap()[0].id;
    assert_ne!(anew, first);
    let yes = ToolConfirmation::confirmed;
    assert!(live.answer(first, yes(), pipeline()).await.is_err());
    live.answer(anew, yes(), pipeline()).await.unwrap();
    assert_eq!(pays.await.unwrap(), Ok(json!({"by": "new"})));
    lawful(&live).await;
}

/// The rule of a policy file counts for tools that come later, and for those that come back.
#[tokio::test]
async fn policy_file_covers_tools_that_come_and_come_back() {
    let file = json!({"tools": {"pay": {"confirm": "Pay?"}}, "defaults": {"timeout": "5s"}});
    let file = recount::tool::policy_file::parse(&file.to_string()).unwrap();
    let agent = Agent::new().tools(tool("pay")).policies(file).strict();
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").open().await.unwrap();
    let gone = ToolChanges::new().without("pay").with(tool("ship"));
    live.change_tools(gone).await.unwrap();
    live.change_tools(ToolChanges::new().with(tool("pay")))
        .await
        .unwrap();
    let session = live.session().await.unwrap();
    assert!(session.terms.policies.of("pay").confirm);
    let ship = session.terms.policies.of("ship");
    assert_eq!(ship.timeout, Some(Duration::from_secs(5)));
}

#[test]
fn retry_waits_through_a_change() {
    let world = World::new();
    let fails = || {
        T::simple("pay", "Pays", |_| async {
            Err(ToolError::Other("busy".into()))
        })
    };
    let policy = ToolPolicy {
        retry: Some(Retry {
            attempts_max: 2,
            backoff_ms: 1_000,
        }),
        ..ToolPolicy::default()
    };
    let retried = |tool| T::in_doubt(T::policy(tool, policy.clone()), InDoubt::Retry);
    let life = world.life(Agent::new().tools(retried(fails())));
    let live = life.run(life.engine().session("support").open()).unwrap();
    let runs = live.clone();
    let pays = life.run(async { tokio::spawn(async move { called(&runs, "pay").await }) });
    life.settle();
    assert_eq!(world.count("retry_scheduled"), 1);
    let works = T::simple("pay", "Pays", |_| async { Ok(json!({"paid": true})) });
    let changes = ToolChanges::new().with(retried(works));
    life.run(live.change_tools(changes)).unwrap();
    world.clock.advance(Duration::from_secs(2));
    assert_eq!(life.run(pays).unwrap(), Ok(json!({"paid": true})));
    life.end();
}

/// The change outlives the session's task, and ends with its process.
#[test]
fn change_lasts_until_the_process_ends() {
    let world = World::new();
    let life = world.life(Agent::new().tools(tool("look")));
    let live = life.run(life.engine().session("support").open()).unwrap();
    life.run(live.change_tools(ToolChanges::new().with(tool("ship"))))
        .unwrap();
    drop(live);
    life.settle();
    let live = life.run(life.engine().reopen(world.session())).unwrap();
    assert_eq!(life.run(called(&live, "ship")), Ok(json!({"by": "ship"})));
    life.crash();
    let life = world.life(Agent::new().tools(tool("look")));
    let live = life.run(life.engine().reopen(world.session())).unwrap();
    assert!(life.run(called(&live, "ship")).is_err());
    assert_eq!(life.run(called(&live, "look")), Ok(json!({"by": "look"})));
    life.end();
}

const SHOPS: &str = r#"
{"on": {"text": "settle"}, "send": [{"call": [{"id": "c1", "name": "pay", "args": {}}]}]}
{"on": {"text": "look"}, "send": [{"call": [{"id": "c2", "name": "look", "args": {}}]}]}
{"on": "otherwise", "send": [{"say": "Understood."}]}
"#;

/// A live connection stays as it is: the model learns of the tools with the next one.
#[test]
fn model_learns_of_the_change_with_its_next_connection() {
    let world = World::with(SHOPS);
    let life = world.life(world.agent(T::timeout(tool("look"), Duration::from_secs(9))));
    let live = life
        .run(life.engine().session("support").connect())
        .unwrap();
    let changes = ToolChanges::new().with(world.till.pays()).without("look");
    life.run(live.change_tools(changes)).unwrap();
    life.settle();
    assert_eq!(world.connections(), 1);
    // The model does not know yet that the tool is gone.
    life.run(live.send_text("Please look.")).unwrap();
    life.settle();
    assert_eq!(last_outcome(&world), Outcome::Refused);
    life.run(live.disconnect()).unwrap();
    life.run(live.connect()).unwrap();
    life.settle();
    let declared = declared(&world.model);
    assert_eq!(declared, [vec!["look".to_owned()], vec!["pay".to_owned()]]);
    life.run(live.send_text("Please settle my bill.")).unwrap();
    life.settle();
    assert_eq!(last_outcome(&world), Outcome::Returned);
    life.end();
    let ledger = Ledger::new(world.journal.clone());
    wait(journal::assert_lawful(&ledger, world.session()));
}

fn last_outcome(world: &World) -> Outcome {
    let session = world.folded();
    session.settled.values().next_back().unwrap().outcome
}

/// The names of the functions that each setup declared.
fn declared(model: &ScriptedModel) -> Vec<Vec<String>> {
    let transcript = model.transcript();
    let setups = transcript.received().filter_map(|(_, message)| {
        let message: Value = serde_json::from_str(&message.encode()).unwrap();
        let tools = message.get("setup")?["tools"].as_array().cloned();
        let tools = tools.unwrap_or_default();
        let functions = tools
            .iter()
            .flat_map(|it| it["functionDeclarations"].as_array());
        let names = functions
            .flatten()
            .map(|it| it["name"].as_str().unwrap().to_owned());
        Some(names.collect())
    });
    setups.collect()
}

/// The story of the scenes: a run goes on, a waiting call is asked about, and one is approved.
pub(crate) fn scenario() -> World {
    let world = World::new();
    let gated = || T::confirm(world.till.pays(), "Pay this?");
    let (life, live) = world.asked_to_pay(gated());
    let request = waiting(&life);
    let changes = ToolChanges::new().with(tool("look"));
    life.run(live.change_tools(changes)).unwrap();
    assert_eq!(waiting(&life), request);
    let schema = json!({"type": "object", "properties": {"cents": {"type": "integer"}}});
    let stricter = T::simple_with("pay", "Pays", schema, |_| async {
        Ok(json!({"paid": true}))
    });
    let changes = ToolChanges::new().with(T::confirm(stricter, "Pay this?"));
    life.run(live.change_tools(changes)).unwrap();
    let anew = waiting(&life);
    assert_ne!(anew, request);
    let _ = life.run(called(&live, "look"));
    life.crash();
    let life = world.life(world.agent(gated()));
    let _live = resume(&life, world.session());
    approve(&life, waiting(&life)).unwrap();
    life.end();
    world
}

/// A call with a key is repeated by another process.
pub(crate) fn keyed_scenario() -> World {
    let world = World::new();
    let agent = || Agent::new().tools(world.till.pays());
    let call = |life: &Life, live: &LiveHandle| {
        let called = live.call_with_key("pay", json!({"cents": 7}), "order-7", pipeline());
        life.run(called).unwrap()
    };
    let life = world.life(agent());
    let live = life.run(life.engine().session("support").open()).unwrap();
    let first = call(&life, &live);
    life.crash();
    world.clock.advance(Duration::from_secs(90));
    let life = world.life(agent());
    let live = life.run(life.engine().reopen(world.session())).unwrap();
    let again = call(&life, &live);
    assert_eq!((again.call, again.repeated), (first.call, true));
    let other = live.call_with_key("pay", json!({"cents": 8}), "order-8", pipeline());
    life.run(other).unwrap();
    life.end();
    world
}

#[test]
fn changed_tools_play_as_recorded() {
    let world = scenario();
    let ledger = Ledger::new(world.journal.clone());
    let fixture = wait(Fixture::export(&ledger, world.session(), &["/none"])).unwrap();
    let changes = fixture
        .steps()
        .iter()
        .filter(|it| it.step.kind() == "tools_changed");
    assert_eq!(changes.count(), 2);
    assert_eq!(fixture.play_by_itself().unwrap().report(), "");
}

#[test]
fn keyed_call_plays_as_recorded() {
    let world = keyed_scenario();
    let ledger = Ledger::new(world.journal.clone());
    let fixture = wait(Fixture::export(&ledger, world.session(), &["/none"])).unwrap();
    assert_eq!(fixture.play_by_itself().unwrap().report(), "");
}

#[test]
fn audit_tells_which_tools_changed() {
    let world = scenario();
    let ledger = Ledger::new(world.journal.clone());
    let report = wait(decisions(&ledger, &Filter::default(), |_, _| ())).unwrap();
    let told: Vec<String> = report.catalogs.iter().map(|it| it.in_words()).collect();
    assert_eq!(
        told,
        ["tools changed: added look", "tools changed: changed pay"]
    );
    let keyed = keyed_scenario();
    let ledger = Ledger::new(keyed.journal.clone());
    let report = wait(decisions(&ledger, &Filter::default(), |_, _| ())).unwrap();
    let keys: Vec<_> = report.calls.iter().map(|it| it.key.as_deref()).collect();
    assert_eq!(keys, [Some("order-7"), Some("order-8")]);
}

/// The tools of a sealed session travel sealed, and are read again by the next process.
#[test]
fn changed_tools_of_a_sealed_session_are_sealed() {
    let world = World::new();
    let keys = Arc::new(recount::journal::seal::MemoryKeyStore::default());
    let life = || {
        let agent = Agent::new().tools(tool("look")).sealed();
        let engine = Engine::in_memory().journal(world.journal.clone());
        let engine = engine.clock(world.clock.clone()).keys(keys.clone());
        Life::of(engine.agent("support", agent))
    };
    let first = life();
    let live = first.run(first.engine().session("support").open()).unwrap();
    let secret = T::simple("launch", "Launches the rocket", |_| async { Ok(json!({})) });
    first
        .run(live.change_tools(ToolChanges::new().with(secret)))
        .unwrap();
    let _ = first.run(called(&live, "launch"));
    first.crash();
    let mut bytes = Vec::new();
    wait(recount::journal::export(&*world.journal, None, &mut bytes)).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("rocket"));
    let second = life();
    let live = second.run(second.engine().reopen(world.session())).unwrap();
    assert_eq!(second.run(live.session()).unwrap().settled.len(), 1);
    second.end();
}

/// A tool that asks while it runs, once its gate has a permit.
struct Asks(Arc<Semaphore>);

#[async_trait::async_trait]
impl ToolFunction for Asks {
    fn name(&self) -> &str {
        "look"
    }
    fn description(&self) -> &str {
        "Looks"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn call(&self, _: Value) -> Result<Value, ToolError> {
        Err(ToolError::Other("it is called with a context".into()))
    }
    async fn call_with_context(&self, _: Value, context: ToolContext) -> Result<Value, ToolError> {
        let _ = self.0.acquire().await;
        let asked = context
            .request_confirmation(Ask::new("Look?", json!({})))
            .await?;
        Ok(json!({"confirmed": asked.confirmed}))
    }
}

#[tokio::test]
async fn tool_that_is_gone_cannot_ask_while_it_runs() {
    let gate = Arc::new(Semaphore::new(0));
    let waits = gate.clone();
    let live = opened(Asks(waits)).await;
    let mut updates = live.subscribe();
    let runs = live.clone();
    let looks = tokio::spawn(async move { called(&runs, "look").await });
    updates.wait_for(is("call_started")).await.unwrap();
    let changes = ToolChanges::new().without("look").with(tool("ship"));
    live.change_tools(changes).await.unwrap();
    let session = live.session().await.unwrap();
    assert!(
        session
            .calls
            .values()
            .all(|it| matches!(it.phase, Phase::Running { .. }))
    );
    gate.add_permits(1);
    let told = looks.await.unwrap();
    assert!(matches!(&told, Err(ToolError::NotAvailable(_))), "{told:?}");
    lawful(&live).await;
}
