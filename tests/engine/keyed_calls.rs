//! Calls of a program with idempotency keys: one key is one call, for callers at the same time,
//! after a restart, and wherever a process is killed.
#![expect(
    clippy::async_yields_async,
    reason = "the task is spawned on the runtime of the process under test"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use recount::engine::{ClaimRequest, Error, KeyedOutcome};
use recount::journal::seal::MemoryKeyStore;
use recount::ledger::{Ledger, PauseTarget};
use recount::prelude::*;
use recount::session::{Event, FunctionCallReceived, Json, Observation, RULES_OF_KEYS, Seq};
use recount::testing::{Crash, CrashPoint, CrashingJournal, CrashingTool, Life};
use tokio::sync::{Semaphore, mpsc};

use crate::journal;
use crate::restart::world::{World, is, wait};

const KEY: &str = "order-7";

fn pipeline() -> Actor {
    Actor::embedder("pipeline")
}

async fn keyed(live: &LiveHandle, args: Value) -> Result<KeyedOutcome, Error> {
    live.call_with_key("pay", args, KEY, pipeline()).await
}

fn code(refused: Result<KeyedOutcome, Error>) -> &'static str {
    match refused {
        Err(Error::Refused(rejection)) => rejection.code(),
        other => panic!("{other:?}"),
    }
}

/// The keyed calls on record.
fn on_record(world: &World) -> Vec<FunctionCallReceived> {
    let facts = world.facts().into_iter();
    let keyed = facts.filter_map(|fact| match fact.event {
        Event::Observed(Observation::FunctionCallReceived(it)) if it.key.is_some() => Some(it),
        _ => None,
    });
    keyed.collect()
}

/// A tool that runs once the gate has a permit.
fn slow(runs: &Arc<AtomicUsize>, gate: &Arc<Semaphore>) -> Toolset {
    let (runs, gate) = (runs.clone(), gate.clone());
    T::simple("pay", "Pays", move |args| {
        runs.fetch_add(1, Ordering::SeqCst);
        let gate = gate.clone();
        async move {
            let _ = gate.acquire().await;
            Ok(json!({"paid": args["cents"]}))
        }
    })
}

#[tokio::test]
async fn sixty_four_callers_with_one_key_get_one_run() {
    let (runs, gate) = (Arc::default(), Arc::new(Semaphore::new(0)));
    let agent = Agent::new().tools(slow(&runs, &gate));
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").open().await.unwrap();
    let callers: Vec<_> = (0..64)
        .map(|n| {
            let live = live.clone();
            let args = match n % 2 {
                0 => json!({"cents": 7, "to": "x"}),
                _ => json!({"to": "x", "cents": 7}),
            };
            tokio::spawn(async move { keyed(&live, args).await.unwrap() })
        })
        .collect();
    gate.add_permits(1);
    let mut firsts = 0;
    for caller in callers {
        let outcome = caller.await.unwrap();
        assert_eq!(outcome.result, Ok(json!({"paid": 7})));
        firsts += usize::from(!outcome.repeated);
    }
    assert_eq!((runs.load(Ordering::SeqCst), firsts), (1, 1));
}

#[tokio::test]
async fn known_key_with_other_text_is_refused() {
    let (runs, gate) = (Arc::default(), Arc::new(Semaphore::new(1)));
    let agent = Agent::new().tools(slow(&runs, &gate));
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").open().await.unwrap();
    let first = keyed(&live, json!({"cents": 7})).await.unwrap();
    assert_eq!(code(keyed(&live, json!({"cents": 8})).await), "key_reused");
    let other = live.call_with_key("look", json!({"cents": 7}), KEY, pipeline());
    assert_eq!(code(other.await), "key_reused");
    for key in [String::new(), "k".repeat(201)] {
        let unfit = live.call_with_key("pay", json!({}), &key, pipeline());
        assert_eq!(code(unfit.await), "unfit_key");
    }
    // A closed session still answers for a known key, and refuses another.
    live.close("done", pipeline()).await.unwrap();
    let again = keyed(&live, json!({"cents": 7})).await.unwrap();
    assert_eq!((again.call, &again.result), (first.call, &first.result));
    let new = live.call_with_key("pay", json!({}), "another", pipeline());
    assert_eq!(code(new.await), "session_closed");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let of_another = engine.session("a").open().await.unwrap();
    let of_another = keyed(&of_another, json!({"cents": 8})).await.unwrap();
    assert!(!of_another.repeated, "a key is known in its session only");
}

#[tokio::test]
async fn refused_and_cancelled_calls_keep_their_outcome() {
    let (runs, gate) = (Arc::default(), Arc::new(Semaphore::new(0)));
    let agent = Agent::new().tools(slow(&runs, &gate));
    let engine = Engine::in_memory().agent("a", agent).open().await.unwrap();
    let live = engine.session("a").open().await.unwrap();
    let unknown = |live: LiveHandle| async move {
        live.call_with_key("nothing", json!({}), "k", pipeline())
            .await
            .unwrap()
    };
    let (first, again) = (unknown(live.clone()).await, unknown(live.clone()).await);
    assert_eq!(first.result, again.result);
    assert_eq!((again.call, again.repeated), (first.call, true));
    let mut updates = live.subscribe();
    let (waits, cancels) = (live.clone(), live.clone());
    let waits = tokio::spawn(async move { keyed(&waits, json!({})).await.unwrap() });
    updates.wait_for(is("call_started")).await.unwrap();
    let call = *cancels
        .session()
        .await
        .unwrap()
        .calls
        .keys()
        .next()
        .unwrap();
    cancels.cancel(call, None, pipeline()).await.unwrap();
    let cancelled = waits.await.unwrap();
    assert!(cancelled.result.is_err(), "{cancelled:?}");
    let again = keyed(&live, json!({})).await.unwrap();
    assert_eq!(again.result, cancelled.result);
}

struct Counts;

#[async_trait::async_trait]
impl StreamingTool for Counts {
    fn name(&self) -> &str {
        "count"
    }
    fn description(&self) -> &str {
        "Counts"
    }
    fn parameters(&self) -> Option<Value> {
        None
    }
    async fn run(&self, _: Value, yields: mpsc::Sender<Value>) -> Result<(), ToolError> {
        for n in 1..=3 {
            let _ = yields.send(json!({ "n": n })).await;
        }
        Ok(())
    }
}

#[tokio::test]
async fn streamed_results_are_returned_to_repeated_callers() {
    let engine = Engine::in_memory()
        .agent("a", Agent::new().tools(T::streaming(Arc::new(Counts))))
        .open()
        .await
        .unwrap();
    let live = engine.session("a").open().await.unwrap();
    let counted = |live: LiveHandle| async move {
        let counted = live.call_with_key("count", json!({}), KEY, pipeline());
        counted.await.unwrap()
    };
    let first = counted(live.clone()).await;
    assert_eq!(first.result, Ok(json!([{"n": 1}, {"n": 2}, {"n": 3}])));
    assert_eq!(counted(live).await.result, first.result);
}

/// Equal secrets have equal bytes only in their session, and nothing on record is their hash.
#[tokio::test]
async fn secret_arguments_are_compared_without_being_recorded() {
    let pay = T::simple("pay", "Pays", |args| async move {
        Ok(json!({"last": args["card"].as_str().map(|it| it[12..].to_owned())}))
    });
    let pay = T::secret(pay, "/card");
    let engine = Engine::in_memory()
        .keys(Arc::new(MemoryKeyStore::default()))
        .agent("a", Agent::new().tools(pay))
        .open()
        .await
        .unwrap();
    let live = engine.session("a").open().await.unwrap();
    let card = |number: &str| json!({"card": number, "cents": 7});
    let first = keyed(&live, card("4111111111111111")).await.unwrap();
    assert_eq!(first.result, Ok(json!({"last": "1111"})));
    let again = keyed(&live, card("4111111111111111")).await.unwrap();
    assert_eq!((again.call, again.result), (first.call, first.result));
    assert_eq!(
        code(keyed(&live, card("5500000000000004")).await),
        "key_reused"
    );
    let ledger = engine.ledger();
    let facts = ledger.facts(live.session_id(), Seq(1), 100).await.unwrap();
    for fact in facts {
        let body = fact.event.body().unwrap();
        assert!(!body.contains("4111111111111111"), "{body}");
    }
}

fn world_after_a_keyed_call() -> (World, KeyedOutcome) {
    let world = World::new();
    let life = world.life(Agent::new().tools(world.till.pays()));
    let live = life.run(life.engine().session("support").open()).unwrap();
    let first = life.run(keyed(&live, json!({"cents": 7}))).unwrap();
    life.crash();
    (world, first)
}

#[test]
fn key_is_known_after_a_restart() {
    let (world, first) = world_after_a_keyed_call();
    let life = world.life(Agent::new().tools(world.till.pays()));
    let live = life.run(life.engine().reopen(world.session())).unwrap();
    let again = life.run(keyed(&live, json!({"cents": 7}))).unwrap();
    assert_eq!((again.call, again.repeated), (first.call, true));
    assert_eq!(again.result, Ok(json!({"paid": true})));
    assert_eq!(
        code(life.run(keyed(&live, json!({"cents": 8})))),
        "key_reused"
    );
    life.end();
    assert_eq!((world.till.runs().len(), on_record(&world).len()), (1, 1));
    let ledger = Ledger::new(world.journal.clone());
    wait(journal::assert_lawful(&ledger, world.session()));
}

#[test]
fn session_records_rules_2_before_its_first_keyed_call() {
    let (world, first) = world_after_a_keyed_call();
    let facts = world.facts();
    let rules = |fact: &&recount::session::Fact| match &fact.event {
        Event::Observed(observation) => observation.rules() == Some(RULES_OF_KEYS),
        Event::Decided(_) => false,
    };
    let raised = facts.iter().find(rules).unwrap();
    assert!(raised.seq < first.call);
    let Event::Observed(Observation::RunnerAttached(it)) = &raised.event else {
        panic!("{raised:?}");
    };
    assert!(it.goes_on);
    // The next process attaches at rules 2 from the start, and another session stays at rules 1.
    let life = world.life(Agent::new().tools(world.till.pays()));
    let live = life.run(life.engine().reopen(world.session())).unwrap();
    let _ = life.run(live.call_function("pay", json!({}), pipeline()));
    assert_eq!(life.run(live.session()).unwrap().rules, RULES_OF_KEYS);
    let other = life.run(life.engine().session("support").open()).unwrap();
    let _ = life.run(other.call_function("pay", json!({}), pipeline()));
    assert_eq!(life.run(other.session()).unwrap().rules, 1);
    life.end();
}

#[test]
fn caller_waits_for_a_call_approved_after_a_restart() {
    let world = World::new();
    let gated = || T::confirm(world.till.pays(), "Pay?");
    let life = world.life(Agent::new().tools(gated()));
    let live = life.run(life.engine().session("support").open()).unwrap();
    let waits = live.clone();
    life.run(async move { tokio::spawn(async move { keyed(&waits, json!({})).await }) });
    life.settle();
    life.crash();
    let life = world.life(Agent::new().tools(gated()));
    let live = life.run(life.engine().reopen(world.session())).unwrap();
    let waits = life.run(async { tokio::spawn(async move { keyed(&live, json!({})).await }) });
    life.settle();
    let request = crate::restart::world::waiting(&life);
    crate::restart::world::approve(&life, request).unwrap();
    let outcome = life.run(waits).unwrap().unwrap();
    assert!(outcome.repeated);
    assert_eq!(outcome.result, Ok(json!({"paid": true})));
    assert_eq!(world.till.runs().len(), 1);
    life.end();
}

/// A deploy ends the process of the caller, which asks again with its key.
#[test]
fn keyed_call_waits_over_a_deploy_during_a_pause() {
    let world = World::new();
    let life = world.life(Agent::new().tools(world.till.pays()));
    let live = life.run(life.engine().session("support").open()).unwrap();
    let everything = || PauseTarget::Everything;
    let paused = life.engine().pause(everything(), None, false, pipeline());
    life.run(paused).unwrap();
    let waits = live.clone();
    life.run(async move { tokio::spawn(async move { keyed(&waits, json!({})).await }) });
    life.settle();
    life.end();
    let life = world.life(Agent::new().tools(world.till.pays()));
    let live = life.run(life.engine().reopen(world.session())).unwrap();
    life.run(life.engine().unpause(everything(), None, pipeline()))
        .unwrap();
    let outcome = life.run(keyed(&live, json!({}))).unwrap();
    assert!(outcome.repeated);
    assert_eq!(outcome.result, Ok(json!({"paid": true})));
    assert_eq!(world.till.runs().len(), 1);
    life.end();
}

/// Runs the session until the crash. Returns false if it was not reached.
fn until(world: &World, crash: &Arc<Crash>) -> bool {
    let journal = Arc::new(CrashingJournal::new(world.journal.clone(), crash));
    let pay = CrashingTool::new(world.till.pays(), crash);
    let agent = Agent::new().tools(pay);
    let life = Life::begin(&journal, &world.clock, [("support", agent)]);
    life.run(async {
        let engine = life.engine().clone();
        tokio::spawn(async move {
            let live = engine.session("support").open().await.unwrap();
            let _ = keyed(&live, json!({"cents": 7})).await;
        })
    });
    life.settle();
    life.crash();
    crash.is_reached()
}

#[test]
fn keyed_call_runs_at_most_once_wherever_a_kill_strikes() {
    let mut kills = 0;
    for batch in 1..12 {
        for point in CrashPoint::ALL {
            let world = World::new();
            kills += usize::from(until(&world, &Arc::new(Crash::at(batch, point, || {}))));
            let ledger = Ledger::new(world.journal.clone());
            if wait(ledger.sessions()).unwrap().is_empty() {
                continue;
            }
            let life = world.life(Agent::new().tools(world.till.pays()));
            let live = life.run(life.engine().reopen(world.session())).unwrap();
            let first = life.run(keyed(&live, json!({"cents": 7}))).unwrap();
            let again = life.run(keyed(&live, json!({"cents": 7}))).unwrap();
            assert_eq!((again.call, &again.result), (first.call, &first.result));
            life.end();
            let runs = world.till.runs().len();
            assert!(runs <= 1, "{runs} runs, killed at {point:?} of {batch}");
            // What was cut off is unknown, and all else has run once.
            let unknown = matches!(first.result, Err(ToolError::UnknownOutcome(_)));
            assert!(unknown || runs == 1, "{first:?} after {runs} runs");
            assert_eq!(on_record(&world).len(), 1);
            wait(journal::assert_lawful(&ledger, world.session()));
        }
    }
    assert!(kills > 8, "only {kills} kills");
}

#[test]
fn keyed_call_in_doubt_is_retried_with_its_key_known() {
    let world = World::new();
    let retried = |tool| T::in_doubt(tool, InDoubt::Retry);
    let life = world.life(Agent::new().tools(retried(world.till.hangs())));
    let live = life.run(life.engine().session("support").open()).unwrap();
    life.run(async { tokio::spawn(async move { keyed(&live, json!({})).await }) });
    life.settle();
    life.crash();
    let life = world.life(Agent::new().tools(retried(world.till.pays())));
    life.settle();
    let live = life.run(life.engine().reopen(world.session())).unwrap();
    let outcome = life.run(keyed(&live, json!({}))).unwrap();
    assert_eq!(outcome.result, Ok(json!({"paid": true})));
    assert_eq!(world.till.attempts(), [1, 2]);
    life.end();
}

/// The finding of a person takes the place of an unknown outcome.
#[test]
fn repeated_caller_gets_the_outcome_that_was_found() {
    let world = World::new();
    let life = world.life(Agent::new().tools(world.till.hangs()));
    let live = life.run(life.engine().session("support").open()).unwrap();
    life.run(async { tokio::spawn(async move { keyed(&live, json!({})).await }) });
    life.settle();
    life.crash();
    let life = world.life(Agent::new().tools(world.till.pays()));
    let live = life.run(life.engine().reopen(world.session())).unwrap();
    let unknown = life.run(keyed(&live, json!({}))).unwrap();
    assert!(matches!(unknown.result, Err(ToolError::UnknownOutcome(_))));
    let ticket = Ticket {
        session: world.session(),
        call: unknown.call,
        tool: "pay".to_owned(),
    };
    let found = recount::session::Finding::done(&json!({"receipt": 17}));
    let reconciled = life.engine().reconcile(&ticket, found, pipeline());
    life.run(reconciled).unwrap();
    let again = life.run(keyed(&live, json!({}))).unwrap();
    assert_eq!(again.result, Ok(json!({"receipt": 17})));
    life.end();
}

/// A session that never connects does not try to, whatever becomes of its calls.
#[test]
fn program_driven_session_never_connects() {
    let world = World::new();
    let agent = || {
        let tools = T::confirm(world.till.pays(), "Pay?");
        world
            .agent(tools)
            .on_settled(recount::session::OnSettled::Connect)
    };
    let life = world.life(agent());
    let live = life.run(life.engine().session("support").open()).unwrap();
    life.run(async { tokio::spawn(async move { keyed(&live, json!({})).await }) });
    life.settle();
    life.crash();
    let life = world.life(agent());
    let request = crate::restart::world::waiting(&life);
    crate::restart::world::approve(&life, request).unwrap();
    life.settle();
    life.end();
    assert_eq!((world.till.runs().len(), world.connections()), (1, 0));
    for kind in [
        "connected",
        "connect_failed",
        "reconnect_scheduled",
        "history_sent",
    ] {
        assert_eq!(world.count(kind), 0, "{kind}");
    }
}

/// A shutdown cancels a program's calls that have not begun, because their callers are gone. A
/// caller with a key comes back, so its call stays: one that a client may claim, and one that a
/// pause holds.
#[test]
fn shutdown_leaves_calls_with_keys_that_have_not_begun() {
    for at_client in [true, false] {
        let world = World::new();
        let agent = || match at_client {
            true => Agent::new().tools(T::client("pay", "Pays", json!({"type": "object"}))),
            false => Agent::new().tools(world.till.pays()),
        };
        let life = world.life(agent());
        let live = life.run(life.engine().session("support").open()).unwrap();
        let session = PauseTarget::Session(live.session_id());
        if !at_client {
            let paused = life
                .engine()
                .pause(session.clone(), None, false, pipeline());
            life.run(paused).unwrap();
        }
        let calling = life.run(async {
            let live = live.clone();
            tokio::spawn(async move { keyed(&live, json!({"cents": 7})).await })
        });
        life.settle();
        life.end();
        assert!(calling.is_finished());
        assert_eq!(world.count("operator_cancelled"), 0, "{at_client}");

        let life = world.life(agent());
        let live = life.run(life.engine().reopen(world.session())).unwrap();
        let again = life.run(async {
            let live = live.clone();
            tokio::spawn(async move { keyed(&live, json!({"cents": 7})).await })
        });
        life.settle();
        if at_client {
            let claimed = life.run(life.engine().claim(&ClaimRequest::new("w"), pipeline()));
            let key = claimed.unwrap().unwrap().key();
            let result = Ok(Json::of(&json!({"paid": true})));
            life.run(life.engine().finish_claim(key, result, pipeline()))
                .unwrap();
        } else {
            let ended = life.engine().unpause(session, None, pipeline());
            life.run(ended).unwrap();
        }
        let again = life.run(again).unwrap().unwrap();
        assert_eq!(
            (again.repeated, again.result),
            (true, Ok(json!({"paid": true})))
        );
        life.end();
        assert_eq!(
            (world.count("call_started"), on_record(&world).len()),
            (1, 1)
        );
    }
}
