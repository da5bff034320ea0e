//! A call is cut off between its start and its result, and its declared rule says what becomes of it.

use recount::prelude::*;
use recount::session::{About, Outcome};

use crate::world::{World, answer, approve, resume, waiting};

/// The tool had begun when its process died.
fn cut_off(world: &World, rule: InDoubt) {
    let (life, _live) = world.asked_to_pay(T::in_doubt(world.till.hangs(), rule));
    assert_eq!(world.till.attempts(), [1]);
    life.crash();
}

#[test]
fn by_default_it_is_settled_as_unknown_and_never_run_again() {
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
fn a_dropped_handle_drops_the_tools_future_and_its_rule_settles_the_call() {
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
fn a_call_that_the_model_takes_back_while_it_runs_is_dropped_and_not_answered() {
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
fn a_shutdown_in_good_order_leaves_nothing_running_and_its_rule_settles_the_call() {
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
