//! An agent that is registered with an open engine: the owed effects of its earlier sessions are
//! started.

use std::time::Duration;

use recount::prelude::*;
use recount::session::{Outcome, ToolPolicy};
use recount::testing::Life;

use crate::restart::world::{World, approve, resume, waiting};

const HOUR: Duration = Duration::from_secs(60 * 60);

fn gated(world: &World) -> Toolset {
    T::confirm(world.till.pays(), "Pay this?")
}

fn expiring(world: &World) -> Toolset {
    let mut policy = ToolPolicy::gate("");
    policy.gate_terms.expires_after = Some(HOUR);
    T::policy(world.till.pays(), policy)
}

/// A request whose process died; the next process has no agent yet.
fn asked_without_agent(world: &World, tool: Toolset) -> Life {
    let (life, _live) = world.asked_to_pay(tool);
    life.crash();
    let life = Life::begin(&world.journal, &world.clock, []);
    life.settle();
    life
}

fn registered(life: &Life, name: &str, agent: Agent) {
    life.engine().register(name, agent).unwrap();
    life.settle();
}

#[test]
fn approved_call_runs_once_agent_is_registered() {
    let world = World::new();
    let life = asked_without_agent(&world, gated(&world));
    approve(&life, waiting(&life)).unwrap();
    registered(&life, "sales", world.agent(gated(&world)));
    assert_eq!(world.till.attempts(), [0; 0], "it is another agent's");
    registered(&life, "support", world.agent(gated(&world)));
    assert_eq!(world.till.attempts(), [1]);
    let _live = resume(&life, world.session());
    let told = world.told(2);
    assert!(
        told.len() == 1 && told[0].ends_with(r#"{"paid":true}"#),
        "{told:?}"
    );
    assert_eq!(world.outcome(), Outcome::Returned);
    life.end();
}

#[test]
fn call_in_doubt_is_settled_once_agent_is_registered() {
    let world = World::new();
    let (life, _live) = world.asked_to_pay(world.till.hangs());
    life.crash();
    let life = Life::begin(&world.journal, &world.clock, []);
    life.settle();
    assert_eq!(world.folded().calls.len(), 1);
    registered(&life, "support", world.agent(world.till.pays()));
    assert_eq!(world.outcome(), Outcome::Unknown);
    assert_eq!(world.till.attempts(), [1]);
    life.end();
}

#[test]
fn overdue_request_is_denied_once_tool_is_registered() {
    // The request expires before the agent is registered, or after.
    for early in [true, false] {
        let world = World::new();
        let life = asked_without_agent(&world, expiring(&world));
        if early {
            world.clock.advance(2 * HOUR);
            life.settle();
            assert_eq!(world.folded().calls.len(), 1, "no agent is registered");
        }
        registered(&life, "support", world.agent(expiring(&world)));
        if !early {
            assert_eq!(world.folded().calls.len(), 1);
            world.clock.advance(2 * HOUR);
            life.settle();
        }
        assert_eq!(world.outcome(), Outcome::Expired, "early: {early}");
        life.end();
    }
}

#[test]
fn a_provider_that_comes_later_is_asked_what_is_still_open() {
    let world = World::new();
    let life = asked_without_agent(&world, gated(&world));
    let agent = world.agent(gated(&world));
    let asked = agent.confirmation_provider(StaticConfirmation::allow_all());
    registered(&life, "support", asked);
    assert_eq!(world.till.attempts(), [1]);
    assert_eq!(world.outcome(), Outcome::Returned);
    life.end();
}

#[test]
fn a_session_that_merely_waits_gets_no_event_by_it() {
    let world = World::new();
    let life = asked_without_agent(&world, gated(&world));
    let before = world.facts().len();
    registered(&life, "support", world.agent(gated(&world)));
    assert_eq!(world.facts().len(), before);
    life.end();
}
