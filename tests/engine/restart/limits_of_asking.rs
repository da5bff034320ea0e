//! The limits of asking count by recorded time, so a restart forgets nothing.

use std::time::Duration;

use recount::engine::Error;
use recount::prelude::*;
use recount::session::Rejection;

use crate::restart::world::{World, approve};

/// The model calls `pay` three times in one message.
const THREE_CALLS: &str = concat!(
    r#"{"on": {"text": "settle"}, "send": [{"call": [{"id": "c1", "name": "pay"}, "#,
    r#"{"id": "c2", "name": "pay"}, {"id": "c3", "name": "pay"}]}]}"#,
    "\n",
    r#"{"on": "otherwise", "once": false, "send": [{"say": "Understood."}]}"#,
    "\n",
);

fn agent(world: &World) -> Agent {
    let pay = T::confirm(world.till.pays(), "Pay this?");
    let agent = world.agent(T::max_open_requests(pay, 2));
    agent.answers_per_minute(1)
}

/// Two of three calls are asked about. One approval of the process before counts in the next one.
pub(crate) fn scenario() -> World {
    let world = World::with(THREE_CALLS);
    let life = world.life(agent(&world));
    let _live = world.ask_to_pay(&life);
    let pending = life.run(life.engine().pending()).unwrap();
    let [first, second] = [0, 1].map(|at: usize| pending[at].id);
    approve(&life, first).unwrap();
    life.crash();
    world.clock.advance(Duration::from_secs(59));
    let life = world.life(agent(&world));
    let refused = approve(&life, second);
    let max = Rejection::TooManyAnswers { max: 1 };
    assert!(matches!(refused, Err(Error::Refused(why)) if why == max));
    world.clock.advance(Duration::from_secs(1));
    approve(&life, second).unwrap();
    life.end();
    world
}

#[test]
fn limits_of_asking_hold_over_a_restart() {
    let world = scenario();
    assert_eq!(world.count("confirmation_requested"), 2);
    assert_eq!(world.count("answer_refused"), 1);
    assert_eq!(world.till.attempts(), [1, 1]);
    let session = world.folded();
    assert_eq!((session.calls.len(), session.settled.len()), (0, 3));
    assert_eq!(session.rules, 2);
}
