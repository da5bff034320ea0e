//! A quorum over a restart: the first yes outlives its process.

use recount::engine::Error;
use recount::prelude::*;
use recount::session::{Approvers, Barred, Identity, Outcome, Person, Rejection};

use crate::restart::world::{World, resume, waiting};

fn person(issuer: &str, name: &str) -> Actor {
    let identity = Identity::of(issuer).with_role("finance");
    Actor::token(name).as_person().with_identity(identity)
}

/// A tool that two of the approvers must approve. The requester is not one of them.
fn tool(world: &World) -> Toolset {
    let names = Approvers::names([Person::os_user("ada")]);
    let people = Approvers::roles(["finance"]).or(names);
    let pay = T::approvers(T::confirm(world.till.pays(), "Pay this?"), people);
    T::quorum(T::not_requester(pay), 2)
}

/// Asks in a session that acts for carol. Each process records one yes and some refused answers.
pub(crate) fn scenario() -> World {
    let world = World::new();
    let life = world.life(world.agent(tool(&world)));
    let live = life.run(async {
        let session = life.engine().session("support").on_behalf_of("carol");
        let live = session.connect().await.unwrap();
        live.send_text("Please settle my bill.").await.unwrap();
        live
    });
    life.settle();
    let request = waiting(&life);
    let answer = |life: &recount::testing::Life, by: Actor| {
        let yes = ToolConfirmation::confirmed().with_reason("fine");
        let seq = life.run(life.engine().answer(request, yes, by));
        life.settle();
        seq
    };
    let barred = |given: Result<recount::session::Seq, Error>| match given {
        Err(Error::Refused(Rejection::Barred(barred))) => barred,
        other => panic!("{other:?}"),
    };
    let issuer = "https://login.example";
    let program = Actor::os_user("ada").as_program("recount run --approve-all");
    assert_eq!(barred(answer(&life, program)), Barred::Automatic);
    let carol = person(issuer, "carol");
    assert_eq!(barred(answer(&life, carol)), Barred::Requester);
    answer(&life, Actor::os_user("ada").as_person()).unwrap();
    drop(live);
    life.crash();

    let life = world.life(world.agent(tool(&world)));
    let _live = resume(&life, world.session());
    let open = life.run(life.engine().pending()).unwrap().remove(0);
    assert_eq!((open.id, open.missing()), (request, 1));
    assert!(world.till.attempts().is_empty());
    let again = answer(&life, Actor::os_user("ada"));
    assert!(matches!(
        again,
        Err(Error::Refused(Rejection::AlreadyApproved { .. }))
    ));
    answer(&life, person(issuer, "ada")).unwrap();
    life.end();
    world
}

#[test]
fn second_yes_after_a_restart_runs_the_call_once() {
    let world = scenario();
    assert_eq!(world.outcome(), Outcome::Returned);
    assert_eq!(world.till.attempts(), [1]);
    assert_eq!(world.count("approval_given"), 1);
    assert_eq!(world.count("confirmation_answered"), 1);
}
