//! A call is cut off between its start and its result, and its declared rule decides about it.

use std::sync::{Arc, Mutex};

use recount::adk::REQUEST_CONFIRMATION;
use recount::engine::{Desk, Error};
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::session::{About, Event, Fact, Finding, Json, Observation, Outcome, Rejection};
use serde_json::Map;
use tokio::sync::Notify;

use crate::restart::world::{World, answer, approve, resume, wait, waiting};

/// Starts a tool in a process that then dies.
fn cut_off(world: &World, rule: InDoubt) {
    let (life, _live) = world.asked_to_pay(T::in_doubt(world.till.hangs(), rule));
    assert_eq!(world.till.attempts(), [1]);
    life.crash();
}

#[test]
fn call_in_doubt_is_unknown_by_default_and_never_rerun() {
    let world = World::new();
    cut_off(&world, InDoubt::SettleUnknown);
    let life = world.life(world.agent(world.till.pays()));
    life.settle();
    assert_eq!(world.outcome(), Outcome::Unknown);
    let _live = resume(&life, world.session());
    let told = world.told(2);
    assert!(
        told.len() == 1 && told[0].contains("unknown_outcome"),
        "{told:?}"
    );
    assert_eq!(world.till.attempts(), [1]);
    life.end();
}

#[test]
fn a_retry_is_a_second_attempt_with_the_same_idempotency_key() {
    let world = World::new();
    cut_off(&world, InDoubt::Retry);
    let life = world.life(world.agent(T::in_doubt(world.till.pays(), InDoubt::Retry)));
    life.settle();
    let runs = world.till.runs();
    assert_eq!(world.till.attempts(), [1, 2]);
    assert_eq!(runs[0].1, runs[1].1);
    assert_eq!(world.outcome(), Outcome::Returned);
    let _live = resume(&life, world.session());
    let told = world.told(2);
    assert!(
        told.len() == 1 && told[0].ends_with(r#"{"paid":true}"#),
        "{told:?}"
    );
    life.end();
}

#[test]
fn a_person_who_agrees_lets_it_run_a_second_time() {
    let world = World::new();
    cut_off(&world, InDoubt::Ask);
    let life = world.life(world.agent(T::in_doubt(world.till.pays(), InDoubt::Ask)));
    life.settle();
    let request = waiting(&life);
    let pending = life.run(life.engine().pending()).unwrap();
    assert_eq!(pending[0].about, About::InDoubt);
    assert_eq!(world.till.attempts(), [1]);
    approve(&life, request).unwrap();
    assert_eq!(world.till.attempts(), [1, 2]);
    assert_eq!(world.outcome(), Outcome::Returned);
    life.end();
}

#[test]
fn a_person_who_does_not_leaves_the_outcome_unknown() {
    let world = World::new();
    cut_off(&world, InDoubt::Ask);
    let life = world.life(world.agent(T::in_doubt(world.till.pays(), InDoubt::Ask)));
    life.settle();
    let request = waiting(&life);
    answer(&life, request, ToolConfirmation::denied("better not")).unwrap();
    assert_eq!(world.till.attempts(), [1]);
    assert_eq!(world.outcome(), Outcome::Unknown);
    life.end();
}

#[test]
fn operator_settles_doubt_and_model_gets_outcome() {
    let done = ToolConfirmation::settled_as_done(json!({"receipt": 17}));
    let failed = ToolConfirmation::settled_as_failed("the bank refused it");
    for (settled, outcome, heard) in [
        (done, Outcome::Supplied, r#"{"receipt":17}"#),
        (failed, Outcome::Failed, "the bank refused it"),
    ] {
        let world = World::new();
        cut_off(&world, InDoubt::Ask);
        let life = world.life(world.agent(T::in_doubt(world.till.pays(), InDoubt::Ask)));
        life.settle();
        answer(&life, waiting(&life), settled.clone()).unwrap();
        assert_eq!(world.till.attempts(), [1]);
        assert_eq!(world.outcome(), outcome);
        let _live = resume(&life, world.session());
        let told = world.told(2);
        assert!(told.len() == 1 && told[0].contains(heard), "{told:?}");
        life.end();
    }
}

/// The client sees what was found, and a response that ends the call.
#[test]
fn settled_doubt_is_no_denial_for_an_adk_client() {
    let failed = json!({"failed": "the bank refused it"});
    for (settled, found, shown) in [
        (
            ToolConfirmation::settled_as_done(json!({"receipt": 17})),
            json!({"done": {"receipt": 17}}),
            r#"{"receipt":17}"#,
        ),
        (
            ToolConfirmation::settled_as_failed("the bank refused it"),
            failed,
            "the bank refused it",
        ),
    ] {
        let world = World::new();
        cut_off(&world, InDoubt::Ask);
        let life = world.life(world.agent(T::in_doubt(world.till.pays(), InDoubt::Ask)));
        life.settle();
        answer(&life, waiting(&life), settled).unwrap();
        let events = life.run(life.engine().adk_events(world.session())).unwrap();
        let responses = |name: &str| -> Vec<Json> {
            let all = events.iter().flat_map(|it| it.responses());
            all.filter(|it| it.name == name)
                .map(|it| it.response.clone())
                .collect()
        };
        let answers = responses(REQUEST_CONFIRMATION);
        let answer = answers.last().unwrap().to_value();
        assert_eq!(answer, json!({"confirmed": false, "found": found}));
        let ends = responses("pay");
        assert!(
            ends.len() == 1 && ends[0].as_str().contains(shown),
            "{ends:?}"
        );
        life.end();
    }
}

#[test]
fn outcome_for_unstarted_call_is_rejected_request_stays_open() {
    let world = World::new();
    let (life, _live) = world.asked_to_pay(T::confirm(world.till.pays(), "Pay this?"));
    let request = waiting(&life);
    let forged = ToolConfirmation::settled_as_done(json!({"paid": true}));
    let refused = answer(&life, request, forged);
    let nothing = Rejection::NothingToSettle;
    assert!(matches!(refused, Err(Error::Refused(why)) if why == nothing));
    assert_eq!(waiting(&life), request);
    assert_eq!(world.count("answer_refused"), 1);
    assert_eq!(world.till.attempts(), [0; 0]);
    life.end();
}

#[test]
fn a_provider_may_settle_a_doubt_too() {
    let world = World::new();
    cut_off(&world, InDoubt::Ask);
    let settles = |_: ConfirmationRequest| async {
        ToolConfirmation::settled_as_done(json!({"receipt": 17}))
    };
    let agent = world.agent(T::in_doubt(world.till.pays(), InDoubt::Ask));
    let life =
        world.life(agent.confirmation_provider(Arc::new(settles) as Arc<dyn ConfirmationProvider>));
    life.settle();
    assert_eq!(world.till.attempts(), [1]);
    assert_eq!(world.outcome(), Outcome::Supplied);
    life.end();
}

/// A tool that notes the payload of each run; its first run never ends.
fn limited(given: &Arc<Mutex<Vec<Option<Value>>>>) -> TypedTool {
    let given = given.clone();
    let pays = move |_: Map<String, Value>, context: ToolContext| {
        let said = context.confirmation().and_then(|it| it.payload.clone());
        given.lock().unwrap().push(said);
        async move {
            if context.attempt == 1 {
                std::future::pending::<()>().await;
            }
            Ok(json!({"paid": true}))
        }
    };
    TypedTool::with_context("pay", "Pays up to a limit", pays)
}

#[test]
fn approval_payload_reaches_run_after_doubt() {
    let said = Arc::default();
    let gated = || {
        let gated = T::confirm(limited(&said), "How much?");
        T::in_doubt(
            T::confirm_payload(gated, json!({"type": "object"})),
            InDoubt::Ask,
        )
    };
    let world = World::new();
    let (life, _live) = world.asked_to_pay(gated());
    let limit = ToolConfirmation::confirmed().with_payload(json!({"limit": 5000}));
    answer(&life, waiting(&life), limit).unwrap();
    life.crash();
    let life = world.life(world.agent(gated()));
    life.settle();
    approve(&life, waiting(&life)).unwrap();
    let given = Some(json!({"limit": 5000}));
    assert_eq!(*said.lock().unwrap(), [given.clone(), given]);
    assert_eq!(world.outcome(), Outcome::Returned);
    life.end();
}

#[test]
fn desk_settles_doubt_of_session_without_task() {
    let world = World::new();
    cut_off(&world, InDoubt::Ask);
    let life = world.life(world.agent(T::in_doubt(world.till.pays(), InDoubt::Ask)));
    life.settle();
    let request = waiting(&life);
    life.crash();
    let desk = Desk::new(Ledger::new(world.journal.clone()), world.clock.clone());
    let settled = ToolConfirmation::settled_as_done(json!({"receipt": 17}));
    wait(desk.answer(request, settled, Actor::os_user("ada"))).unwrap();
    assert_eq!(world.outcome(), Outcome::Supplied);
    assert_eq!(world.till.attempts(), [1]);
}

#[test]
fn late_desk_command_records_what_preceded_it() {
    let world = World::new();
    cut_off(&world, InDoubt::SettleUnknown);
    let call = *world.folded().calls.keys().next().unwrap();
    let desk = Desk::new(Ledger::new(world.journal.clone()), world.clock.clone());
    let cancelled = wait(desk.cancel(world.session(), call, None, Actor::os_user("ada")));
    let Err(Error::Refused(Rejection::CallSettled { outcome, .. })) = cancelled else {
        panic!("it was cut off before: {cancelled:?}");
    };
    assert_eq!(outcome, Outcome::Unknown);
    assert_eq!(world.outcome(), Outcome::Unknown);
}

#[test]
fn unknown_outcome_is_reconciled_once_and_sent_as_text() {
    let world = World::new();
    cut_off(&world, InDoubt::SettleUnknown);
    let life = world.life(world.agent(world.till.pays()));
    let live = resume(&life, world.session());
    let call = *world.folded().settled.keys().next().unwrap();
    let ticket = |tool: &str| Ticket {
        session: world.session(),
        call,
        tool: tool.to_owned(),
    };
    let engine = life.engine().clone();
    let reconcile = |tool: &str, by: &str| {
        let found = Finding::done(&json!({"receipt": 17}));
        let done = life.run(engine.reconcile(&ticket(tool), found, Actor::embedder(by)));
        life.settle();
        done
    };
    let other = reconcile("refund", "eve");
    assert!(matches!(
        other,
        Err(Error::Refused(Rejection::WrongName { .. }))
    ));
    reconcile("pay", "ada").unwrap();
    assert_eq!(world.outcome(), Outcome::Unknown);
    let told = world.told(2);
    assert!(
        told.len() == 2 && told[1].ends_with(r#"{"receipt":17}"#),
        "{told:?}"
    );
    let second = reconcile("pay", "bob");
    let Err(Error::Refused(Rejection::AlreadyReconciled(first))) = second else {
        panic!("the second word must not count: {second:?}");
    };
    assert_eq!(first.by, Actor::embedder("ada"));
    assert_eq!(world.till.attempts(), [1]);
    drop(live);
    life.end();
}

#[test]
fn outcome_reconciled_without_runner_is_sent_on_next_attach() {
    let world = World::new();
    cut_off(&world, InDoubt::SettleUnknown);
    let life = world.life(world.agent(world.till.pays()));
    life.settle();
    life.crash();
    let desk = Desk::new(Ledger::new(world.journal.clone()), world.clock.clone());
    let call = *world.folded().settled.keys().next().unwrap();
    let ticket = Ticket {
        session: world.session(),
        call,
        tool: "pay".to_owned(),
    };
    let found = Finding::failed("the bank refused it");
    wait(desk.reconcile(&ticket, found, Actor::os_user("ada"))).unwrap();
    let life = world.life(world.agent(world.till.pays()));
    let _live = resume(&life, world.session());
    let told = world.told(2);
    assert!(
        told.last().unwrap().contains("the bank refused it"),
        "{told:?}"
    );
    life.end();
}

#[test]
fn dropped_handle_drops_tool_future_and_rule_settles_call() {
    let world = World::new();
    let (life, live) = world.asked_to_pay(world.till.hangs());
    assert_eq!((world.till.attempts().len(), world.till.dropped()), (1, 0));
    drop(live);
    life.settle();
    assert_eq!(world.till.dropped(), 1);
    assert_eq!(world.outcome(), Outcome::Unknown);
    life.end();
}

#[test]
fn running_call_cancelled_by_model_is_dropped_and_not_answered() {
    let world = World::new();
    let (life, live) = world.asked_to_pay(world.till.hangs());
    life.run(live.send_text("No, stop!")).unwrap();
    life.settle();
    assert_eq!(world.till.dropped(), 1);
    assert_eq!(world.outcome(), Outcome::Withdrawn);
    assert_eq!(world.answered(), [""; 0]);
    life.end();
    assert_eq!(world.count("response_issued"), 0);
}

#[test]
fn orderly_shutdown_stops_tools_and_rule_settles_call() {
    let world = World::new();
    let (life, _live) = world.asked_to_pay(T::in_doubt(world.till.hangs(), InDoubt::Retry));
    life.end();
    assert_eq!(world.till.dropped(), 1);
    let life = world.life(world.agent(T::in_doubt(world.till.pays(), InDoubt::Retry)));
    life.settle();
    assert_eq!(world.till.attempts(), [1, 2]);
    assert_eq!(world.outcome(), Outcome::Returned);
    life.end();
}

/// A tool that pays at a notification, and returns its attempt.
fn pays_when_told(pay: &Arc<Notify>) -> TypedTool {
    let pay = pay.clone();
    let pays = move |_: Map<String, Value>, context: ToolContext| {
        let pay = pay.clone();
        async move {
            pay.notified().await;
            Ok(json!({"paid_in": context.attempt}))
        }
    };
    TypedTool::with_context("pay", "Pays when it is told to", pays)
}

#[test]
fn result_after_abandoned_run_is_recorded_but_is_no_outcome() {
    for (rule, outcome) in [
        (InDoubt::SettleUnknown, Outcome::Unknown),
        (InDoubt::Retry, Outcome::Returned),
    ] {
        let (world, pay) = (World::new(), Arc::new(Notify::new()));
        let (life, live) = world.asked_to_pay(T::in_doubt(pays_when_told(&pay), rule));
        // The session must drop the run and attach again. The tool ends first, but its result
        // arrives later.
        let live = Arc::new(live);
        let (gone, back) = life.run(async {
            let (live, pay) = (live.clone(), pay.clone());
            let tell = async move { pay.notify_one() };
            let anew = async move { tokio::join!(tell, live.disconnect(), live.connect()) };
            let ((), gone, back) = tokio::spawn(anew).await.unwrap();
            (gone, back)
        });
        gone.unwrap();
        back.unwrap();
        life.settle();
        let returned = |fact: &Fact| match &fact.event {
            Event::Observed(Observation::ToolReturned(it)) => Some(it.attempt),
            Event::Observed(_) | Event::Decided(_) => None,
        };
        let late = world.facts().iter().position(|it| returned(it) == Some(1));
        let late = late.expect("the late result is on record");
        let before = world.facts()[..late].to_vec();
        let given_up = before.iter().any(|it| it.event.kind() == "runner_detached");
        assert!(given_up, "the run was over before");
        let starts = before.iter().filter(|it| it.event.kind() == "call_started");
        assert_eq!(starts.count(), if rule == InDoubt::Retry { 2 } else { 1 });
        pay.notify_one();
        life.settle();
        assert_eq!(world.outcome(), outcome);
        let told = world.told(2);
        let words = match rule {
            InDoubt::Retry => r#"{"paid_in":2}"#,
            InDoubt::SettleUnknown | InDoubt::Ask => "unknown_outcome",
        };
        assert!(told.len() == 1 && told[0].contains(words), "{told:?}");
        assert_eq!(world.answered(), [""; 0]);
        drop(live);
        life.end();
    }
}
