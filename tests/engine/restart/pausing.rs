//! The stop switch: nothing starts while a pause holds it, in any session, also after a crash.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use recount::engine::{Desk, Error};
use recount::journal::{Actor as Kind, Append, Draft, Hash, Journal, MemoryJournal};
use recount::ledger::{Ledger, PauseTarget};
use recount::prelude::*;
use recount::session::{Event, OpenKind, Outcome, PauseScope, Rejection, Seq};
use recount::tool::ToolChanges;
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::journal::assert_lawful;
use crate::restart::world::{Pay, World, resume, wait};

fn ada() -> Actor {
    Actor::embedder("ada")
}

fn why() -> Option<String> {
    Some("the bank is down".to_owned())
}

fn is(kind: &'static str) -> impl Fn(&Event) -> bool {
    move |event| event.kind() == kind
}

/// A tool that counts its runs and returns at once.
fn counted(runs: &Arc<AtomicUsize>) -> Toolset {
    let runs = runs.clone();
    T::simple("pay", "Pays", move |_| {
        runs.fetch_add(1, Ordering::SeqCst);
        async { Ok(json!({"paid": true})) }
    })
}

/// A tool that runs until the gate opens.
fn waiting(runs: &Arc<AtomicUsize>, gate: &Arc<Semaphore>) -> Toolset {
    let (runs, gate) = (runs.clone(), gate.clone());
    T::simple("pay", "Pays", move |_| {
        runs.fetch_add(1, Ordering::SeqCst);
        let gate = gate.clone();
        async move {
            let _ = gate.acquire().await;
            Ok(json!({"paid": true}))
        }
    })
}

fn agent(tools: impl Into<Toolset>) -> Agent {
    Agent::new().model("none").tools(tools)
}

async fn engine_over(journal: &Arc<MemoryJournal>, tools: impl Into<Toolset>) -> Engine {
    let engine = Engine::in_memory().journal(journal.clone());
    let engine = engine.agent("support", agent(tools));
    engine.open().await.unwrap()
}

/// Makes a call without waiting for its outcome, and returns once it is ready or further.
async fn call(live: &Arc<LiveHandle>) -> tokio::task::JoinHandle<Result<Value, ToolError>> {
    let mut updates = live.subscribe();
    let caller = live.clone();
    let calling = tokio::spawn(async move {
        let pipeline = Actor::embedder("pipeline");
        caller.call_function("pay", json!({}), pipeline).await
    });
    updates.wait_for(is("call_ready")).await.unwrap();
    calling
}

async fn kinds(ledger: &Ledger, session: SessionId) -> Vec<&'static str> {
    let facts = ledger.facts(session, Seq(1), 10_000).await.unwrap();
    facts.iter().map(|fact| fact.event.kind()).collect()
}

fn count(kinds: &[&str], kind: &str) -> usize {
    kinds.iter().filter(|it| **it == kind).count()
}

/// Sessions call a tool again and again while everything is paused: after the pause has returned,
/// no record is a start, until the pause ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_session_starts_a_call_after_the_pause_returned() {
    let runs = Arc::default();
    let engine = engine_over(&Arc::new(MemoryJournal::new()), counted(&runs)).await;
    for _round in 0..20 {
        let mut callers = Vec::new();
        let mut sessions = Vec::new();
        for _session in 0..8 {
            let live = Arc::new(engine.session("support").open().await.unwrap());
            sessions.push(live.clone());
            callers.push(tokio::spawn(async move {
                for _call in 0..20 {
                    let pipeline = Actor::embedder("pipeline");
                    let called = live.call_function("pay", json!({}), pipeline).await;
                    called.unwrap();
                }
            }));
        }
        engine
            .pause(PauseTarget::Everything, why(), false, ada())
            .await
            .unwrap();
        let started = |kinds: &[&str]| count(kinds, "call_started");
        let mut before = Vec::new();
        for session in &sessions {
            let id = session.session_id();
            before.push(started(&kinds(engine.ledger(), id).await));
        }
        // Each session records something more, so that a start would have its chance.
        for (session, before) in sessions.iter().zip(&before) {
            let written = session.change_state(ada(), |state| state.set("round", 1));
            written.await.unwrap();
            let now = kinds(engine.ledger(), session.session_id()).await;
            assert_eq!(started(&now), *before);
        }
        engine
            .unpause(PauseTarget::Everything, None, ada())
            .await
            .unwrap();
        for caller in callers {
            caller.await.unwrap();
        }
    }
    assert_eq!(runs.load(Ordering::SeqCst), 20 * 8 * 20);
}

/// A process died between the record of the pause in the journal's own stream and its observation
/// by the session. The next process observes it before it starts the approved call.
#[test]
fn pause_that_no_session_has_observed_holds_after_a_crash() {
    let world = World::new();
    let gated = || T::confirm(world.till.pays(), "Pay this?");
    let (life, live) = world.asked_to_pay(gated());
    let request = crate::restart::world::waiting(&life);
    drop(live);
    life.crash();
    let ledger = Ledger::new(world.journal.clone());
    let desk = Desk::new(ledger.clone(), world.clock.clone());
    wait(desk.answer(request, ToolConfirmation::confirmed(), ada())).unwrap();
    wait(append_to_own_stream(&*world.journal));

    let next = world.life(world.agent(gated()));
    next.settle();
    assert_eq!((world.count("paused"), world.count("call_started")), (1, 0));
    let listed = next.run(next.engine().pauses()).unwrap();
    assert_eq!((listed.len(), listed[0].session), (1, None));
    let ended = next.engine().unpause(PauseTarget::Everything, None, ada());
    next.run(ended).unwrap();
    next.settle();
    assert_eq!(world.till.attempts(), [1]);
    let _live = resume(&next, world.session());
    assert_eq!(world.outcome(), Outcome::Returned);
    wait(assert_lawful(&ledger, world.session()));
    next.end();
}

/// Appends what an engine appends first when everything is paused.
pub(super) async fn append_to_own_stream(journal: &dyn Journal) {
    let head = journal.head(Uuid::nil()).await.unwrap();
    let (seq, prev) = head.map_or((0, Hash::ZERO), |head| (head.seq, head.hash));
    let body = json!({
        "scope": "everything", "reason": "the bank is down", "rules": 2,
        "by": {"name": "ada", "authenticated_by": "embedder"},
    });
    let body = body.to_string();
    let line = Draft {
        session: Uuid::nil(),
        seq: seq + 1,
        at_us: 1,
        kind: "paused",
        cause: None,
        actor: Kind::new("person"),
        body: &body,
        prev,
    }
    .line();
    let append = Append::new(Uuid::nil(), seq, vec![line]);
    journal.append(append).await.unwrap();
}

/// A session that is opened meanwhile observes the pause right after its first record.
#[tokio::test]
async fn session_opened_during_a_pause_observes_it_first() {
    let runs = Arc::default();
    let engine = engine_over(&Arc::new(MemoryJournal::new()), counted(&runs)).await;
    engine
        .pause(PauseTarget::Agent("support".into()), why(), false, ada())
        .await
        .unwrap();
    let live = Arc::new(engine.session("support").open().await.unwrap());
    let calling = call(&live).await;
    let told = kinds(engine.ledger(), live.session_id()).await;
    assert_eq!(told[..3], ["session_opened", "paused", "runner_attached"]);
    assert_eq!(count(&told, "call_started"), 0);
    engine
        .unpause(PauseTarget::Agent("support".into()), None, ada())
        .await
        .unwrap();
    assert_eq!(calling.await.unwrap(), Ok(json!({"paid": true})));
}

#[tokio::test]
async fn pause_of_an_agent_holds_no_other_agent() {
    let runs: Arc<AtomicUsize> = Arc::default();
    let engine = Engine::in_memory()
        .agent("support", agent(counted(&runs)))
        .agent("billing", agent(counted(&runs)));
    let engine = engine.open().await.unwrap();
    let other = engine.session("billing").open().await.unwrap();
    let support = PauseTarget::Agent("support".into());
    engine
        .pause(support.clone(), why(), false, ada())
        .await
        .unwrap();
    let paid = other.call_function("pay", json!({}), ada()).await;
    assert_eq!(paid, Ok(json!({"paid": true})));
    assert!(other.session().await.unwrap().pauses.is_empty());
    let unknown = PauseTarget::Agent("suport".into());
    let refused = engine.pause(unknown, why(), false, ada()).await;
    assert!(matches!(refused, Err(Error::UnknownAgent { .. })));
    let twice = engine.pause(support, why(), false, ada()).await;
    let Err(Error::Refused(Rejection::AlreadyPaused(first))) = twice else {
        panic!("it was paused twice")
    };
    assert_eq!((first.by.name.as_str(), first.reason), ("ada", why()));
}

/// A start that waits for a slot of the engine has not begun: a pause takes it back. The running
/// call continues, and both pauses must end before the other one runs.
#[tokio::test]
async fn start_that_waits_for_a_slot_is_taken_back() {
    let (runs, gate) = (Arc::default(), Arc::new(Semaphore::new(0)));
    let engine = Engine::in_memory()
        .running_max(1)
        .agent("support", agent(waiting(&runs, &gate)));
    let engine = engine.open().await.unwrap();
    let first = Arc::new(engine.session("support").open().await.unwrap());
    let second = Arc::new(engine.session("support").open().await.unwrap());
    let running = call(&first).await;
    while runs.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let queued = call(&second).await;
    let session = PauseTarget::Session(second.session_id());
    for target in [session.clone(), PauseTarget::Everything] {
        engine.pause(target, why(), false, ada()).await.unwrap();
    }
    gate.add_permits(2);
    assert_eq!(running.await.unwrap(), Ok(json!({"paid": true})));
    let open = second.session().await.unwrap();
    assert_eq!(open.calls.values().filter(|it| it.runs()).count(), 0);
    engine.unpause(session, None, ada()).await.unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    engine
        .unpause(PauseTarget::Everything, None, ada())
        .await
        .unwrap();
    assert_eq!(queued.await.unwrap(), Ok(json!({"paid": true})));
    let told = kinds(engine.ledger(), second.session_id()).await;
    assert_eq!(count(&told, "call_started"), 2);
    let folded = second.session().await.unwrap();
    assert_eq!(folded.settled.values().next().unwrap().attempts, 1);
    assert_lawful(engine.ledger(), second.session_id()).await;
}

#[tokio::test]
async fn running_calls_are_cancelled_if_asked() {
    let (runs, gate) = (Arc::default(), Arc::new(Semaphore::new(0)));
    let engine = engine_over(&Arc::new(MemoryJournal::new()), waiting(&runs, &gate)).await;
    let live = Arc::new(engine.session("support").open().await.unwrap());
    let running = call(&live).await;
    while runs.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    engine
        .pause(PauseTarget::Everything, why(), true, ada())
        .await
        .unwrap();
    assert!(running.await.unwrap().is_err());
    let told = kinds(engine.ledger(), live.session_id()).await;
    assert_eq!(count(&told, "operator_cancelled"), 1);
}

/// A desk pauses a tool after a crash. The call that was cut off does not run again before the end
/// of the pause.
#[test]
fn desk_pauses_and_the_next_process_starts_nothing() {
    let world = World::new();
    let retried = |tool: Pay| T::idempotent(tool);
    let (life, live) = world.asked_to_pay(retried(world.till.hangs()));
    drop(live);
    life.crash();
    let (session, ledger) = (world.session(), Ledger::new(world.journal.clone()));
    let desk = Desk::new(ledger.clone(), world.clock.clone());
    let target = |tool: &str| PauseTarget::Tool {
        session,
        tool: tool.to_owned(),
    };
    wait(desk.pause(target("pay"), why(), false, ada())).unwrap();
    let refused = wait(desk.pause(target("pya"), why(), false, ada()));
    assert!(matches!(
        refused,
        Err(Error::Refused(Rejection::UnknownTool { .. }))
    ));
    let listed = wait(ledger.pauses()).unwrap();
    assert_eq!(listed[0].session, Some(session));
    assert_eq!(listed[0].pause.scope, PauseScope::Tool("pay".to_owned()));
    let open = wait(ledger.sessions()).unwrap();
    assert_eq!(open[0].open.get(OpenKind::Pause.as_str()), Some(&1));

    let next = world.life(world.agent(retried(world.till.pays())));
    next.settle();
    assert_eq!(world.till.attempts(), [1]);
    let ended = next.engine().unpause(target("pay"), None, ada());
    next.run(ended).unwrap();
    next.settle();
    assert_eq!(world.till.attempts(), [1, 2]);
    wait(assert_lawful(&ledger, session));
    next.end();
}

/// A tool that came while the session lived. The call waits for the end of a pause without a task,
/// and runs then, although the registered agent does not have its tool.
#[test]
fn end_of_a_pause_starts_the_call_of_a_changed_tool() {
    let (world, runs) = (World::new(), Arc::default());
    let look = T::simple("look", "Looks", |_| async { Ok(json!({})) });
    let life = world.life(Agent::new().tools(look));
    life.run(async {
        let live = life.engine().session("support").open().await.unwrap();
        let changes = ToolChanges::new().with(counted(&runs));
        live.change_tools(changes).await.unwrap();
        let everything = PauseTarget::Everything;
        let paused = life.engine().pause(everything, why(), false, ada());
        paused.await.unwrap();
        // The key keeps the call when its caller and the last handle go.
        let mut updates = live.subscribe();
        let calling = tokio::spawn(async move {
            let key = "order-7";
            live.call_with_key("pay", json!({}), key, ada()).await
        });
        updates.wait_for(is("call_ready")).await.unwrap();
        calling.abort();
    });
    life.settle();
    let ended = life.engine().unpause(PauseTarget::Everything, None, ada());
    life.run(ended).unwrap();
    life.settle();
    let told: Vec<_> = world.facts().iter().map(|it| it.event.kind()).collect();
    assert_eq!(runs.load(Ordering::SeqCst), 1, "{told:?}");
    life.end();
}
