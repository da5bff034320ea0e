//! Clients and the stop switch without a service: claims, leases, pauses and results at a desk, and
//! at an engine that does not serve the session.

use std::sync::Arc;
use std::time::Duration;

use crate::surviving::SurvivingJournal;
use recount::engine::{ClaimRequest, ClaimedCall, ClientAction, Desk, Error, Operated, Operation};
use recount::journal::{Actor as Kind, Append, Draft, Journal};
use recount::ledger::{Ledger, PauseTarget};
use recount::prelude::*;
use recount::session::{Json, Outcome};
use recount::testing::{Life, ManualClock};

use crate::restart::pausing::append_to_own_stream;
use crate::restart::world::{World, is, resume, wait};

const LEASE: Duration = Duration::from_secs(60);

fn ada() -> Actor {
    Actor::embedder("ada")
}

fn warehouse() -> Actor {
    Actor::token("warehouse")
}

fn packs(rule: InDoubt) -> Toolset {
    let schema = json!({"type": "object"});
    T::in_doubt(T::client("pay", "Pays", schema), rule)
}

/// A world whose process died while a call was ready for a client, and a desk over its journal.
fn left_ready(rule: InDoubt) -> (World, Desk) {
    let world = World::new();
    let (life, live) = world.asked_to_pay(packs(rule));
    drop(live);
    life.crash();
    let ledger = Ledger::new(world.journal.clone());
    let desk = Desk::new(ledger, world.clock.clone());
    (world, desk)
}

/// A process that does not serve the agent of the session.
fn without_the_agent(world: &World) -> Life {
    let other = Agent::new().model("m").connect_to(world.model.clone());
    Life::begin(&world.journal, &world.clock, [("other", other)])
}

fn claim(desk: &Desk, id: &str) -> Option<ClaimedCall> {
    wait(desk.claim(&ClaimRequest::new(id), warehouse())).unwrap()
}

fn finish(desk: &Desk, call: &ClaimedCall, result: Value) -> Result<Operated, Error> {
    let result = ClientAction::Return(Ok(Json::of(&result)));
    wait(desk.operate(
        Operation::Client {
            key: call.key(),
            action: result,
        },
        warehouse(),
    ))
}

fn refusal(operated: Result<Operated, Error>) -> String {
    match operated {
        Ok(Operated::Refused(it)) => it.code,
        other => panic!("{other:?}"),
    }
}

/// A process died between the record of a pause in the journal's own stream and the session's own
/// record. A client that comes to the desk next starts nothing.
#[test]
fn unobserved_pause_holds_a_claim_at_the_desk() {
    let (world, desk) = left_ready(InDoubt::Ask);
    wait(append_to_own_stream(&*world.journal));
    assert_eq!(claim(&desk, "w1"), None);
    assert_eq!((world.count("paused"), world.count("call_started")), (1, 0));
    let ended = desk.unpause(PauseTarget::Everything, None, ada());
    wait(ended).unwrap();
    assert!(claim(&desk, "w2").is_some());
    assert_eq!(world.count("unpaused"), 1);
}

/// The same at an engine that has no agent for the session.
#[test]
fn unobserved_pause_holds_a_claim_without_the_agent() {
    let (world, _desk) = left_ready(InDoubt::Ask);
    wait(append_to_own_stream(&*world.journal));
    let life = without_the_agent(&world);
    let request = ClaimRequest::new("w1");
    let claimed = life.run(life.engine().claim(&request, warehouse()));
    assert_eq!(claimed.unwrap(), None);
    assert_eq!((world.count("paused"), world.count("call_started")), (1, 0));
    life.end();
}

/// A pause of everything, of an agent, of a session and of a tool: each is on record in the session
/// when the desk returns, and holds claims there and the calls of the next process.
#[test]
fn pause_at_a_desk_holds_at_once() {
    for what in 0..4 {
        let (world, desk) = left_ready(InDoubt::Ask);
        let session = world.session();
        let tool = "pay".to_owned();
        let target = match what {
            0 => PauseTarget::Everything,
            1 => PauseTarget::Agent("support".to_owned()),
            2 => PauseTarget::Session(session),
            _ => PauseTarget::Tool { session, tool },
        };
        wait(desk.pause(target.clone(), None, false, ada())).unwrap();
        assert_eq!(world.count("paused"), 1, "{target:?}");
        assert_eq!(claim(&desk, "w1"), None, "{target:?}");
        let next = world.life(world.agent(packs(InDoubt::Ask)));
        next.settle();
        let request = ClaimRequest::new("w2");
        let claimed = next.run(next.engine().claim(&request, warehouse()));
        assert_eq!(claimed.unwrap(), None, "{target:?}");
        next.crash();
        wait(desk.unpause(target.clone(), None, ada())).unwrap();
        let call = claim(&desk, "w3").unwrap();
        finish(&desk, &call, json!({"paid": 1})).unwrap();
        assert_eq!(world.outcome(), Outcome::Returned, "{target:?}");
    }
}

/// Without a service, only clients run calls. A pause that cancels what runs cancels theirs.
#[test]
fn pause_at_a_desk_cancels_what_clients_run() {
    for wide in [true, false] {
        let (world, desk) = left_ready(InDoubt::Ask);
        let call = claim(&desk, "w1").unwrap();
        let session = world.session();
        let other = PauseTarget::Tool {
            session,
            tool: "pay".to_owned(),
        };
        let target = if wide { PauseTarget::Everything } else { other };
        wait(desk.pause(target, None, true, ada())).unwrap();
        assert_eq!(world.count("operator_cancelled"), 1);
        let late = finish(&desk, &call, json!({}));
        assert_eq!(refusal(late), "call_settled");
        assert_eq!(world.outcome(), Outcome::Cancelled);
    }
}

#[test]
fn pause_cancels_what_clients_run_without_the_agent() {
    let (world, desk) = left_ready(InDoubt::Ask);
    claim(&desk, "w1").unwrap();
    let life = without_the_agent(&world);
    let target = PauseTarget::Session(world.session());
    let paused = life.engine().pause(target, None, true, ada());
    life.run(paused).unwrap();
    assert_eq!(world.count("operator_cancelled"), 1);
    life.end();
}

/// No process notices the end of a lease. The next client at the desk does.
#[test]
fn lapsed_call_is_claimed_again_at_the_desk() {
    let (world, desk) = left_ready(InDoubt::Retry);
    let lost = claim(&desk, "w1").unwrap();
    assert_eq!(claim(&desk, "w2"), None);
    world.clock.advance(LEASE);
    let again = claim(&desk, "w3").unwrap();
    assert_eq!(
        (again.attempt, &again.idempotency_key),
        (2, &lost.idempotency_key)
    );
    assert_eq!(refusal(finish(&desk, &lost, json!({}))), "stale_attempt");
    finish(&desk, &again, json!({"paid": 1})).unwrap();
    assert_eq!(world.outcome(), Outcome::Returned);
}

/// A call whose tool does not run twice ends at the look of the next client, who gets nothing.
#[test]
fn lapsed_call_that_runs_once_is_not_claimed_again() {
    let (world, desk) = left_ready(InDoubt::SettleUnknown);
    let lost = claim(&desk, "w1").unwrap();
    world.clock.advance(LEASE);
    assert_eq!(claim(&desk, "w2"), None);
    assert_eq!(world.count("call_claimed"), 1);
    finish(&desk, &lost, json!({"paid": 1})).unwrap();
    assert_eq!(world.outcome(), Outcome::Unknown);
    assert_eq!(world.count("outcome_reconciled"), 1);
}

/// A failed run at a client is retried by a client, also if nothing but a desk sees its time come.
#[test]
fn retry_of_a_client_is_claimed_at_the_desk() {
    let world = World::new();
    let wait_ms = Duration::from_secs(5);
    let tool = || T::retry(T::idempotent(packs(InDoubt::Retry)), 3, wait_ms);
    let (life, live) = world.asked_to_pay(tool());
    drop(live);
    life.crash();
    let desk = Desk::new(Ledger::new(world.journal.clone()), world.clock.clone());
    let first = claim(&desk, "w1").unwrap();
    let failed = ClientAction::Return(Err("jam".to_owned()));
    let failed = desk.operate(
        Operation::Client {
            key: first.key(),
            action: failed,
        },
        warehouse(),
    );
    wait(failed).unwrap();
    assert_eq!(claim(&desk, "w2"), None);
    world.clock.advance(LEASE);
    assert_eq!(claim(&desk, "w3").map(|it| it.attempt), Some(2));
}

/// The engine has no agent for the session, so no task notices the end of the lease. A client that
/// waits gets the call then.
#[test]
#[expect(
    clippy::async_yields_async,
    reason = "the task is spawned on the runtime of the process under test"
)]
fn waiting_client_gets_a_lapsed_call_without_its_agent() {
    let (world, desk) = left_ready(InDoubt::Retry);
    claim(&desk, "w1").unwrap();
    let life = without_the_agent(&world);
    let engine = life.engine().clone();
    let waiting = life.run(async {
        tokio::spawn(async move {
            let request = ClaimRequest::new("w2");
            engine.claim_next(&request, warehouse()).await
        })
    });
    life.settle();
    assert!(!waiting.is_finished());
    world.clock.advance(LEASE);
    life.settle();
    assert!(waiting.is_finished());
    assert_eq!(life.run(waiting).unwrap().unwrap().attempt, 2);
    life.end();
}

/// A session with a record that cannot be read keeps no client from the calls of the others.
#[tokio::test]
async fn unreadable_session_holds_no_other_call() {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let spoilt = ready_call(&journal, &clock).await;
    clock.advance(LEASE);
    let sound = ready_call(&journal, &clock).await;
    spoil(&*journal, spoilt).await;
    let desk = Desk::new(Ledger::new(journal.clone()), clock.clone());
    let request = ClaimRequest::new("w1");
    let claimed = desk.claim(&request, warehouse()).await.unwrap();
    assert_eq!(claimed.map(|it| it.session), Some(sound));
}

/// A session in which a program's call is ready for a client. Its process has shut down.
async fn ready_call(journal: &Arc<SurvivingJournal>, clock: &Arc<ManualClock>) -> SessionId {
    let agent = Agent::new().model("none").tools(packs(InDoubt::Retry));
    let engine = Engine::in_memory().journal(journal.clone());
    let engine = engine.clock(clock.clone()).agent("shop", agent);
    let engine = engine.open().await.unwrap();
    let live = engine.session("shop").open().await.unwrap();
    let mut updates = live.subscribe();
    let session = live.session_id();
    let calling = tokio::spawn(async move {
        let key = "order-7";
        live.call_with_key("pay", json!({}), key, ada()).await
    });
    updates.wait_for(|event| event.kind() == "call_ready").await;
    engine.shutdown(Duration::ZERO).await.unwrap();
    let _ = calling.await.unwrap();
    session
}

/// Appends a record of a kind that no program knows.
async fn spoil(journal: &dyn Journal, session: SessionId) {
    let head = journal.head(session.0).await.unwrap().unwrap();
    let line = Draft {
        session: session.0,
        seq: head.seq + 1,
        at_us: head.at_us,
        kind: "unheard_of",
        cause: None,
        actor: Kind::new("person"),
        body: "{}",
        prev: head.hash,
    }
    .line();
    let append = Append::new(session.0, head.seq, vec![line]);
    journal.append(append).await.unwrap();
}

fn withholding(tool: Toolset) -> Agent {
    let agent = Agent::new().model("m").tools(tool);
    agent.before_tool_response(|responses, state| async move {
        let withhold = |mut it: FunctionResponse| {
            it.response["card"] = json!("[withheld]");
            state.set("seen", true);
            it
        };
        responses.into_iter().map(withhold).collect()
    })
}

/// The agent's hook sees what clients return before it is on record, in time and late.
#[test]
fn hook_sees_the_results_of_clients_first() {
    for late in [false, true] {
        let world = World::new();
        let agent = || withholding(packs(InDoubt::Ask)).connect_to(world.model.clone());
        let life = world.life(agent());
        let _live = world.ask_to_pay(&life);
        let claimed = life.run(life.engine().claim(&ClaimRequest::new("w1"), warehouse()));
        let call = claimed.unwrap().unwrap();
        if late {
            world.clock.advance(LEASE);
            life.settle();
        }
        let operate = |action| {
            let operation = Operation::Client {
                key: call.key(),
                action,
            };
            life.run(life.engine().operate(operation, warehouse()))
        };
        let secret = Json::of(&json!({"card": "4111"}));
        if !late {
            operate(ClientAction::Yield(secret.clone())).unwrap();
        }
        operate(ClientAction::Return(Ok(secret))).unwrap();
        life.settle();
        let recorded = world.facts();
        for fact in &recorded {
            let body = fact.event.body().unwrap();
            assert!(!body.contains("4111"), "{body}");
        }
        let results = recorded.iter().filter(|it| {
            let kinds = ["tool_yielded", "tool_returned", "outcome_found"];
            kinds.contains(&it.event.kind()) && it.event.body().unwrap().contains("[withheld]")
        });
        assert_eq!(results.count(), if late { 1 } else { 2 });
        assert!(world.count("state_changed") > 0);
        life.end();
    }
}

/// A desk has no hook, so it takes no result that the hook must see.
#[test]
fn desk_takes_no_result_that_a_hook_must_see() {
    let world = World::new();
    let agent = withholding(packs(InDoubt::Ask)).connect_to(world.model.clone());
    let life = world.life(agent);
    let live = world.ask_to_pay(&life);
    drop(live);
    life.crash();
    let desk = Desk::new(Ledger::new(world.journal.clone()), world.clock.clone());
    let call = claim(&desk, "w1").unwrap();
    let refused = finish(&desk, &call, json!({"card": "4111"}));
    assert!(
        matches!(refused, Err(Error::HookMissing { .. })),
        "{refused:?}"
    );
    let agent = withholding(packs(InDoubt::Ask)).connect_to(world.model.clone());
    let life = world.life(agent);
    let _live = resume(&life, world.session());
    let result = Ok(Json::of(&json!({"card": "4111"})));
    let done = life.engine().finish_claim(call.key(), result, warehouse());
    life.run(done).unwrap();
    life.end();
    assert_eq!(world.outcome(), Outcome::Returned);
}

/// A session without a handle keeps no task while a client works. The engine's alarm sees the end
/// of the lease.
#[test]
fn lease_of_an_idle_session_ends_in_time() {
    let world = World::new();
    let life = world.life(world.agent(packs(InDoubt::Ask)));
    life.run(async {
        let live = life.engine().session("support").open().await.unwrap();
        let mut updates = live.subscribe();
        let calling = tokio::spawn(async move {
            let key = "order-7";
            live.call_with_key("pay", json!({}), key, ada()).await
        });
        updates.wait_for(is("call_ready")).await.unwrap();
        calling.abort();
    });
    let claimed = life.run(life.engine().claim(&ClaimRequest::new("w1"), warehouse()));
    assert!(claimed.unwrap().is_some());
    life.settle();
    world.clock.advance(LEASE);
    life.settle();
    assert_eq!(world.count("deadline_passed"), 1);
    assert_eq!(world.count("confirmation_requested"), 1);
    life.end();
}

#[test]
fn claim_after_a_restart_attaches_no_runner() {
    let (world, _desk) = left_ready(InDoubt::Ask);
    let life = world.life(world.agent(packs(InDoubt::Ask)));
    let claimed = life.run(life.engine().claim(&ClaimRequest::new("w1"), warehouse()));
    life.settle();
    assert!(claimed.unwrap().is_some());
    assert_eq!(world.count("runner_attached"), 1);
    life.end();
}
