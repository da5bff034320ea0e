//! A standing leave over a restart: it allows later calls until it is revoked.

use recount::prelude::*;
use recount::session::{AllowFor, Outcome};
use recount::testing::Life;

use crate::restart::world::{World, answer, resume, waiting};

fn agent(world: &World) -> Agent {
    world.agent(T::may_allow_for_session(T::confirm(
        world.till.pays(),
        "Pay this?",
    )))
}

/// The program calls the tool, and everything runs that follows.
fn calls(life: &Life, live: &LiveHandle, cents: u32) {
    let live = live.clone();
    life.run(async move {
        tokio::spawn(async move {
            let pipeline = Actor::embedder("pipeline");
            let _ = live
                .call_function("pay", json!({"cents": cents}), pipeline)
                .await;
        });
    });
    life.settle();
}

/// One approval allows three later calls. The first is in its own process, the second in the next
/// one; then the leave is revoked, and the third is asked about.
pub(crate) fn scenario() -> World {
    let world = World::new();
    let life = world.life(agent(&world));
    let live = life
        .run(life.engine().session("support").connect())
        .unwrap();
    calls(&life, &live, 1);
    let three_more = ToolConfirmation::confirmed().and_allow_for(AllowFor::Count(3));
    answer(&life, waiting(&life), three_more).unwrap();
    calls(&life, &live, 2);
    life.crash();
    let life = world.life(agent(&world));
    let live = resume(&life, world.session());
    calls(&life, &live, 3);
    let leaves = life.run(life.engine().standing_leaves()).unwrap();
    let leave = leaves.first().unwrap();
    assert_eq!((leave.used, leave.tool.as_str()), (2, "pay"));
    let reason = Some("end of the shift".to_owned());
    let ada = Actor::embedder("ada");
    life.run(live.revoke_leave(leave.leave, reason, ada))
        .unwrap();
    calls(&life, &live, 4);
    answer(&life, waiting(&life), ToolConfirmation::denied("not today")).unwrap();
    life.end();
    world
}

#[test]
fn leave_allows_calls_over_a_restart_until_revoked() {
    let world = scenario();
    assert_eq!(world.count("confirmation_requested"), 2);
    assert_eq!(world.count("leave_used"), 2);
    let session = world.folded();
    let mut outcomes = session.settled.values().map(|it| it.outcome);
    let returned = outcomes.by_ref().take(3).collect::<Vec<_>>();
    assert_eq!(returned, [Outcome::Returned; 3]);
    assert_eq!(outcomes.next(), Some(Outcome::Denied));
    assert_eq!(session.rules, 2);
}

#[test]
fn other_policy_of_the_next_process_ends_the_leave() {
    let world = World::new();
    let life = world.life(agent(&world));
    let live = life
        .run(life.engine().session("support").connect())
        .unwrap();
    calls(&life, &live, 1);
    let more = ToolConfirmation::confirmed().and_allow_for(AllowFor::Count(9));
    answer(&life, waiting(&life), more).unwrap();
    life.crash();
    let slower = T::timeout(world.till.pays(), std::time::Duration::from_secs(60));
    let gated = T::may_allow_for_session(T::confirm(slower, "Pay this?"));
    let life = world.life(world.agent(gated));
    let live = resume(&life, world.session());
    assert_eq!(life.run(live.standing_leaves()).unwrap(), []);
    calls(&life, &live, 2);
    waiting(&life);
    life.end();
    assert_eq!(world.count("leave_used"), 0);
}
