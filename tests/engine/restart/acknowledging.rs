//! Waiting calls that are acknowledged only after a time, and not at all if they end before.

use std::time::Duration;

use recount::live::Capabilities;
use recount::prelude::*;
use recount::replay;
use recount::replay::what_if::what_if;
use recount::session::{
    Deadline, Effect, Event, Observation, Outcome, PolicyChanges, Session, Timestamp, owed,
};
use recount::testing::Life;

use super::world::{World, answer, approve, resume, wait, waiting};

/// A model that takes one response to a call, and waits for it.
fn takes_one() -> Capabilities {
    let mut capabilities = Capabilities::default();
    capabilities.async_tools = false;
    capabilities.will_continue = false;
    capabilities
}

/// An agent whose calls are acknowledged after ten seconds.
fn agent(world: &World) -> Agent {
    let pay = T::confirm(world.till.pays(), "Pay?");
    let agent = world.agent(pay).strict().capabilities(takes_one());
    agent.acknowledge_after(Duration::from_secs(10))
}

fn asked(world: &World) -> (Life, LiveHandle) {
    let life = world.life(agent(world));
    let live = world.ask_to_pay(&life);
    (life, live)
}

/// Advances the clock.
fn pass(world: &World, life: &Life, ms: u64) {
    world.clock.advance(Duration::from_millis(ms));
    life.settle();
}

/// The responses that the model received by the call's id, as JSON.
fn answers(world: &World) -> Vec<String> {
    let transcript = world.model.transcript();
    let texts = transcript.answers().map(|(_, response, _)| {
        let body = response.response.as_ref().unwrap();
        body.as_str().to_owned()
    });
    texts.collect()
}

const WAITS: &str = r#"{"status":"awaiting_confirmation","tool":"pay"}"#;

/// The time at which the acknowledgement is due, if its timer is owed.
fn due(session: &Session) -> Option<Timestamp> {
    owed(session).into_iter().find_map(|effect| match effect {
        Effect::ArmTimer {
            deadline: Deadline::Acknowledgement { .. },
            due_us,
        } => Some(due_us),
        _ => None,
    })
}

/// The number of recorded ends of a time without acknowledgement.
fn passed(world: &World) -> usize {
    let facts = world.facts();
    let ends = facts.iter().filter(|fact| {
        matches!(
            &fact.event,
            Event::Observed(Observation::DeadlinePassed(it))
                if matches!(it.deadline, Deadline::Acknowledgement { .. })
        )
    });
    ends.count()
}

#[test]
fn model_is_told_of_the_wait_once_its_time_has_passed() {
    let world = World::new();
    let (life, live) = asked(&world);
    pass(&world, &life, 9_999);
    assert!(answers(&world).is_empty(), "{:?}", answers(&world));
    pass(&world, &life, 1);
    assert_eq!(answers(&world), [WAITS]);
    pass(&world, &life, 60_000);
    assert_eq!(answers(&world), [WAITS]);
    approve(&life, waiting(&life)).unwrap();
    // The model has had its response, so the result comes as conversation.
    assert_eq!(answers(&world), [WAITS]);
    assert_eq!(world.told(1).len(), 1);
    assert_eq!(world.outcome(), Outcome::Returned);
    assert_eq!(passed(&world), 1);
    drop(live);
    life.end();
}

#[test]
fn call_approved_in_time_is_answered_by_its_id_alone() {
    let world = World::new();
    let (life, live) = asked(&world);
    pass(&world, &life, 9_999);
    approve(&life, waiting(&life)).unwrap();
    pass(&world, &life, 60_000);
    assert_eq!(answers(&world).len(), 1);
    assert_ne!(answers(&world), [WAITS]);
    assert!(world.told(1).is_empty());
    assert_eq!(passed(&world), 0);
    assert_eq!(world.outcome(), Outcome::Returned);
    drop(live);
    life.end();
}

#[test]
fn call_denied_in_time_is_answered_by_its_id_alone() {
    let world = World::new();
    let (life, live) = asked(&world);
    pass(&world, &life, 5_000);
    answer(&life, waiting(&life), ToolConfirmation::denied("no")).unwrap();
    pass(&world, &life, 60_000);
    assert_eq!(answers(&world).len(), 1);
    assert_ne!(answers(&world), [WAITS]);
    assert_eq!(world.outcome(), Outcome::Denied);
    drop(live);
    life.end();
}

#[test]
fn wait_of_a_lost_connection_is_not_acknowledged() {
    let world = World::new();
    let (life, live) = asked(&world);
    pass(&world, &life, 4_000);
    let session = world.folded();
    let asked_at = session.calls.values().next().unwrap().since;
    assert_eq!(due(&session), Some(asked_at.after_ms(10_000)));
    drop(live);
    life.crash();
    // The time passes while no process runs.
    world.clock.advance(Duration::from_secs(60));
    let life = world.life(agent(&world));
    life.settle();
    assert_eq!(
        world.facts().last().unwrap().seq,
        session.head,
        "nothing was woken"
    );
    let live = resume(&life, world.session());
    pass(&world, &life, 60_000);
    assert!(answers(&world).is_empty());
    assert_eq!(passed(&world), 0);
    approve(&life, waiting(&life)).unwrap();
    assert_eq!(world.told(2).len(), 1);
    assert_eq!(world.outcome(), Outcome::Returned);
    drop(live);
    life.end();
}

#[test]
fn desk_records_no_acknowledgement_for_a_dead_process() {
    let world = World::new();
    let (life, live) = asked(&world);
    drop(live);
    life.crash();
    world.clock.advance(Duration::from_secs(60));
    // No agent is registered here.
    let life = Life::begin(&world.journal, &world.clock, [] as [(&str, Agent); 0]);
    approve(&life, waiting(&life)).unwrap();
    assert_eq!(passed(&world), 0);
    assert!(world.folded().deliveries.is_empty());
    life.end();
}

/// The service resumes from a handle that is older than the call, so it calls again.
const AGAIN: &str = r#"
{"on": "setup", "connection": 1, "send": [{"sessionResumptionUpdate": {"newHandle": "h1", "resumable": true}}]}
{"on": "setup", "connection": 2, "send": [{"call": [{"id": "c1", "name": "pay", "args": {"cents": 4200}}]}]}
{"on": {"text": "settle"}, "connection": 1, "send": [{"call": [{"id": "c1", "name": "pay", "args": {"cents": 4200}}]}]}
{"on": {"responses_to": ["c1"]}, "once": false, "send": [{"say": "Noted."}]}
{"on": "otherwise", "send": []}
"#;

#[test]
fn call_delivered_again_is_acknowledged_at_its_time() {
    let world = World::with(AGAIN);
    let (life, live) = asked(&world);
    pass(&world, &life, 4_000);
    let due_at = due(&world.folded());
    world.model.drop_connection(1006, "gone");
    life.settle();
    pass(&world, &life, 2_000);
    assert_eq!(world.connections(), 2);
    assert_eq!(due(&world.folded()), due_at);
    pass(&world, &life, 3_999);
    assert!(answers(&world).is_empty());
    pass(&world, &life, 1);
    assert_eq!(answers(&world), [WAITS]);
    drop(live);
    life.end();
}

#[test]
fn wait_repeats_in_a_replay_and_under_the_same_policies() {
    let world = World::new();
    let (life, live) = asked(&world);
    pass(&world, &life, 10_000);
    approve(&life, waiting(&life)).unwrap();
    drop(live);
    life.end();
    let ledger = recount::ledger::Ledger::new(world.journal.clone());
    let replayed = wait(replay::verify(&ledger, world.session())).unwrap();
    assert_eq!(replayed.diverged, None);
    let changes = PolicyChanges::default();
    let report = wait(what_if(&ledger, world.session(), &changes, |_| {})).unwrap();
    let call = &report.calls[0];
    assert_eq!((call.unknown.is_none(), call.heard), (true, None));
    assert_eq!(call.recorded.standing, call.under.standing);
    let longer = PolicyChanges {
        acknowledge_after: Some(Some(Duration::from_secs(20))),
        ..PolicyChanges::default()
    };
    let report = wait(what_if(&ledger, world.session(), &longer, |_| {})).unwrap();
    let call = &report.calls[0];
    assert_eq!(call.recorded.standing, call.under.standing);
    assert_eq!(report.calls.len(), 1);
}
