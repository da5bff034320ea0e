//! Calls that clients run, over restarts of the service: claimed, finished, given back, offered
//! again, and reported late.

use std::time::Duration;

use recount::engine::{ClaimRequest, ClaimedCall, ClientAction, Error, Operated, Operation};
use recount::fixture::Fixture;
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::session::{Json, Lease, OpenKind, Outcome, open_work};
use recount::testing::Life;

use crate::restart::world::{World, resume, wait};

/// A tool that clients run.
fn packs(rule: InDoubt) -> Toolset {
    let schema = json!({"type": "object", "properties": {"cents": {"type": "integer"}}});
    T::in_doubt(T::client("pay", "Pays", schema), rule)
}

fn warehouse() -> Actor {
    Actor::token("warehouse")
}

fn claim(life: &Life, id: &str) -> Option<ClaimedCall> {
    let request = ClaimRequest::new(id).tool("pay").agent("support");
    let claimed = life.run(life.engine().claim(&request, warehouse()));
    life.settle();
    claimed.unwrap()
}

fn finish(life: &Life, call: &ClaimedCall) -> Result<recount::session::Seq, Error> {
    let result = Json::of(&json!({"receipt": 17}));
    let done = life
        .engine()
        .finish_claim(call.key(), Ok(result), warehouse());
    let done = life.run(done);
    life.settle();
    done
}

fn code(refused: Result<recount::session::Seq, Error>) -> &'static str {
    match refused {
        Err(Error::Refused(rejection)) => rejection.code(),
        other => panic!("{other:?}"),
    }
}

const LEASE: Duration = Duration::from_secs(60);

/// Asked for, claimed, renewed; the service restarts; the client finishes there.
pub(crate) fn finished_over_a_restart() -> World {
    let world = World::new();
    let (life, _live) = world.asked_to_pay(packs(InDoubt::Ask));
    assert_eq!(open(&world), [OpenKind::Session, OpenKind::Claimable]);
    let call = claim(&life, "worker-7/1").unwrap();
    assert_eq!((call.attempt, call.args.as_str()), (1, r#"{"cents":4200}"#));
    assert_eq!(open(&world), [OpenKind::Session, OpenKind::Claimed]);
    life.crash();
    world.clock.advance(LEASE / 2);
    let life = world.life(world.agent(packs(InDoubt::Ask)));
    let _live = resume(&life, world.session());
    let (key, action) = (call.key(), ClientAction::Renew(Lease::DEFAULT));
    let renew = Operation::Client { key, action };
    let renewed = life.run(life.engine().operate(renew, warehouse()));
    assert!(matches!(renewed.unwrap(), Operated::OnRecord(it) if it.until.is_some()));
    world.clock.advance(LEASE * 3 / 4);
    life.settle();
    finish(&life, &call).unwrap();
    life.end();
    world
}

/// Given back, claimed by another client whose lease passes, offered again and finished. The report
/// of the older start is refused.
pub(crate) fn offered_again() -> World {
    let world = World::new();
    let (life, _live) = world.asked_to_pay(packs(InDoubt::Retry));
    let given_back = claim(&life, "worker-7/1").unwrap();
    let reason = Some("out of paper".to_owned());
    let end = life
        .engine()
        .end_claim(given_back.key(), reason, true, warehouse());
    life.run(end).unwrap();
    let lost = claim(&life, "worker-8/1").unwrap();
    assert_eq!(
        (lost.attempt, &lost.idempotency_key),
        (2, &given_back.idempotency_key)
    );
    life.crash();
    world.clock.advance(2 * LEASE);
    let life = world.life(world.agent(packs(InDoubt::Retry)));
    life.settle();
    assert_eq!(open(&world), [OpenKind::Session, OpenKind::Claimable]);
    let again = claim(&life, "worker-9/1").unwrap();
    assert_eq!(
        (again.attempt, &again.idempotency_key),
        (3, &lost.idempotency_key)
    );
    assert_eq!(code(finish(&life, &lost)), "stale_attempt");
    finish(&life, &again).unwrap();
    life.end();
    let life = world.life(world.agent(packs(InDoubt::Retry)));
    let _live = resume(&life, world.session());
    life.end();
    world
}

/// The lease passes, a person is asked, and the result of the client answers.
pub(crate) fn reported_after_the_lease() -> World {
    let world = World::new();
    let (life, _live) = world.asked_to_pay(packs(InDoubt::Ask));
    let call = claim(&life, "worker-7/1").unwrap();
    world.clock.advance(2 * LEASE);
    life.settle();
    assert_eq!(world.count("confirmation_requested"), 1);
    finish(&life, &call).unwrap();
    life.end();
    world
}

fn open(world: &World) -> Vec<OpenKind> {
    let open = open_work(&world.folded()).into_iter();
    open.map(|(_, it)| it.kind).collect()
}

#[test]
fn claim_survives_a_restart_and_is_finished() {
    let world = finished_over_a_restart();
    assert_eq!(world.outcome(), Outcome::Returned);
    assert_eq!(world.count("confirmation_requested"), 0);
    // The connection of the call is gone, so the model gets the result as text.
    let told = world.told(2);
    assert!(
        told.len() == 1 && told[0].contains(r#"{"receipt":17}"#),
        "{told:?}"
    );
}

#[test]
fn call_is_offered_again_after_its_lease() {
    let world = offered_again();
    assert_eq!(world.outcome(), Outcome::Returned);
    assert_eq!(world.count("call_started"), 3);
}

#[test]
fn late_result_withdraws_the_question_about_the_doubt() {
    let world = reported_after_the_lease();
    assert_eq!(world.outcome(), Outcome::Supplied);
    assert_eq!(world.count("confirmation_withdrawn"), 1);
    assert_eq!(world.answered(), [r#"{"receipt":17}"#]);
}

#[test]
fn late_result_of_an_unknown_call_is_reconciled() {
    let world = World::new();
    let (life, _live) = world.asked_to_pay(packs(InDoubt::SettleUnknown));
    let call = claim(&life, "worker-7/1").unwrap();
    life.crash();
    world.clock.advance(2 * LEASE);
    let life = world.life(world.agent(packs(InDoubt::SettleUnknown)));
    let _live = resume(&life, world.session());
    assert_eq!(world.outcome(), Outcome::Unknown);
    finish(&life, &call).unwrap();
    assert_eq!(world.count("outcome_reconciled"), 1);
    assert_eq!(code(finish(&life, &call)), "call_settled");
    life.end();
}

#[test]
fn new_process_without_the_tool_leaves_the_client_running() {
    let world = World::new();
    let (life, _live) = world.asked_to_pay(packs(InDoubt::Ask));
    let call = claim(&life, "worker-7/1").unwrap();
    life.crash();
    let other = T::simple("look", "Looks", |_| async { Ok(json!({})) });
    let life = world.life(world.agent(other));
    let _live = resume(&life, world.session());
    assert_eq!(world.count("confirmation_requested"), 0);
    finish(&life, &call).unwrap();
    life.end();
    assert_eq!(world.outcome(), Outcome::Returned);
}

#[test]
fn cancelled_call_refuses_renewals_and_results() {
    let world = World::new();
    let (life, live) = world.asked_to_pay(packs(InDoubt::Ask));
    let call = claim(&life, "worker-7/1").unwrap();
    life.run(live.cancel(call.call, None, Actor::os_user("ops")))
        .unwrap();
    let renewed = life
        .engine()
        .renew_claim(call.key(), Lease::DEFAULT, warehouse());
    assert_eq!(code(life.run(renewed)), "call_settled");
    assert_eq!(code(finish(&life, &call)), "call_settled");
    life.end();
}

#[test]
fn claim_waits_for_a_call_and_takes_only_what_it_can_run() {
    let world = World::new();
    let life = world.life(world.agent(packs(InDoubt::Ask)));
    let live = life
        .run(life.engine().session("support").connect())
        .unwrap();
    assert_eq!(claim(&life, "worker-7/1"), None);
    let request = ClaimRequest::new("worker-7/2").tool("pay");
    let claimed = life.run(async {
        let waiting = life.engine().claim_next(&request, warehouse());
        let asking = live.send_text("Please settle my bill.");
        let (claimed, asked) = tokio::join!(waiting, asking);
        asked.unwrap();
        claimed.unwrap()
    });
    assert_eq!(claimed.tool, "pay");
    for request in [
        ClaimRequest::new("a").tool("other"),
        ClaimRequest::new("b").agent("other"),
        ClaimRequest::new("c").label("site", "berlin"),
    ] {
        let none = life.run(life.engine().claim(&request, warehouse()));
        assert_eq!(none.unwrap(), None);
    }
    life.end();
}

#[test]
fn approved_payload_comes_with_the_claim() {
    let world = World::new();
    let schema = json!({"type": "object"});
    let tool = T::confirm_payload(T::confirm(packs(InDoubt::Ask), "Pay?"), schema);
    let (life, _live) = world.asked_to_pay(tool);
    assert_eq!(claim(&life, "worker-7/1"), None);
    let yes = ToolConfirmation::confirmed().with_payload(json!({"limit": 5000}));
    let request = crate::restart::world::waiting(&life);
    crate::restart::world::answer(&life, request, yes).unwrap();
    let call = claim(&life, "worker-7/2").unwrap();
    let given = json!({"confirmed": true, "payload": {"limit": 5000}});
    assert_eq!(call.confirmation, Some(given));
    life.end();
}

/// Exports each story as a fixture and plays it: the requests of the clients are made again.
#[test]
fn stories_of_clients_play_as_recorded() {
    for (name, story) in [
        (
            "reported_after_the_lease",
            reported_after_the_lease as fn() -> World,
        ),
        ("given_back_and_finished", given_back_and_finished),
    ] {
        let world = story();
        let ledger = Ledger::new(world.journal.clone());
        let none: &[&str] = &[];
        let fixture = wait(Fixture::export(&ledger, world.session(), none)).unwrap();
        let played = fixture.play_by_itself().unwrap();
        assert!(played.is_as_recorded(), "{name}:\n{}", played.report());
    }
}

/// Given back with a reason, claimed by another client, renewed, and reported in two parts.
fn given_back_and_finished() -> World {
    let world = World::new();
    let (life, _live) = world.asked_to_pay(packs(InDoubt::Ask));
    let first = claim(&life, "worker-7/1").unwrap();
    life.run(
        life.engine()
            .end_claim(first.key(), None, true, warehouse()),
    )
    .unwrap();
    world.clock.advance(LEASE / 4);
    let call = claim(&life, "worker-8/1").unwrap();
    world.clock.advance(LEASE / 2);
    life.run(
        life.engine()
            .renew_claim(call.key(), Lease::DEFAULT, warehouse()),
    )
    .unwrap();
    let action = ClientAction::Yield(Json::of(&json!({"paid": 1})));
    let key = call.key();
    let part = Operation::Client { key, action };
    life.run(life.engine().operate(part, warehouse())).unwrap();
    life.settle();
    finish(&life, &call).unwrap();
    life.end();
    world
}
