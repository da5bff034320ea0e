//! Standing leaves at the doors of the engine and of the desk.

use std::sync::Arc;
use std::time::Duration;

use crate::store;
use recount::engine::{Desk, Error, Operated, Operation};
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::session::{AllowFor, Rejection, Timestamp};
use recount::testing::ManualClock;

fn agent() -> Agent {
    let mail = T::simple("mail", "Sends", |_| async { Ok(json!({"sent": true})) });
    let mail = T::may_allow_for_session(T::confirm(mail, "Send this?"));
    Agent::new().model("none").tools(mail)
}

async fn engine(place: &tempfile::TempDir, clock: &Arc<ManualClock>) -> Engine {
    let engine = store::engine(place.path()).agent("desk", agent());
    engine.clock(clock.clone()).open().await.unwrap()
}

/// Calls the tool in the background, and returns the request about the call.
async fn asked(live: &LiveHandle) -> RequestId {
    let mut updates = live.subscribe();
    let calling = live.clone();
    tokio::spawn(async move {
        let pipeline = Actor::embedder("pipeline");
        let _ = calling.call_function("mail", json!({}), pipeline).await;
    });
    let is_asked = |event: &recount::session::Event| event.kind() == "confirmation_requested";
    updates.wait_for(is_asked).await.unwrap();
    live.pending().await.unwrap().first().unwrap().id
}

fn yes(bound: AllowFor) -> ToolConfirmation {
    ToolConfirmation::confirmed().and_allow_for(bound)
}

fn ada() -> Actor {
    Actor::embedder("ada")
}

/// The time this long after the clock's.
fn after(clock: &ManualClock, seconds: u64) -> AllowFor {
    use recount::engine::Clock;
    AllowFor::Until(clock.now().after(Duration::from_secs(seconds)))
}

#[tokio::test]
async fn pending_request_says_that_a_leave_may_be_given() {
    let (place, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let engine = engine(&place, &clock).await;
    let live = engine.session("desk").open().await.unwrap();
    asked(&live).await;
    let waiting = live.pending().await.unwrap();
    assert!(waiting.first().unwrap().may_allow_for_session);
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn bound_is_checked_by_the_clock_of_the_door() {
    let (place, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let engine = engine(&place, &clock).await;
    let live = engine.session("desk").open().await.unwrap();
    let soon = after(&clock, 60);
    let request = asked(&live).await;
    // No record is made meanwhile, so the session does not know the time.
    clock.advance(Duration::from_secs(61));
    for unfit in [
        soon,
        AllowFor::Until(Timestamp(i64::MAX)),
        AllowFor::Count(0),
    ] {
        let refused = engine.answer(request, yes(unfit), ada()).await;
        assert!(matches!(
            refused,
            Err(Error::Refused(Rejection::UnfitAnswer(_)))
        ));
    }
    let month = after(&clock, 30 * 86_400);
    engine.answer(request, yes(month), ada()).await.unwrap();
    assert_eq!(engine.standing_leaves().await.unwrap().len(), 1);
    clock.advance(Duration::from_secs(30 * 86_400));
    assert_eq!(engine.standing_leaves().await.unwrap(), []);
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn leave_is_revoked_once_and_by_its_people() {
    let (place, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let engine = engine(&place, &clock).await;
    let live = engine.session("desk").open().await.unwrap();
    let request = asked(&live).await;
    engine
        .answer(request, yes(AllowFor::Count(5)), ada())
        .await
        .unwrap();
    let given = live.standing_leaves().await.unwrap().remove(0);
    assert_eq!(
        (given.request, given.by.clone(), given.count()),
        (request, vec![ada()], Some(5))
    );
    let night = ada().as_program("night");
    let barred = engine
        .revoke_leave(given.session, given.leave, None, night)
        .await;
    assert!(matches!(
        barred,
        Err(Error::Refused(Rejection::LeaveBarred(_)))
    ));
    let operation = Operation::RevokeLeave {
        session: given.session,
        leave: given.leave,
        reason: None,
    };
    let Ok(Operated::OnRecord(revoked)) = engine.operate(operation.clone(), ada()).await else {
        unreachable!("ada gave the leave")
    };
    assert_eq!(revoked.tool, "mail");
    let Ok(Operated::Refused(again)) = engine.operate(operation, ada()).await else {
        unreachable!("it was revoked before")
    };
    assert_eq!(
        (again.code.as_str(), again.at),
        ("leave_ended", Some(revoked.seq))
    );
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn desk_gives_and_revokes_leaves() {
    let (place, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let running = engine(&place, &clock).await;
    let live = running.session("desk").open().await.unwrap();
    let request = asked(&live).await;
    drop(live);
    running.shutdown(Duration::ZERO).await.unwrap();
    {
        let journal = store::open(place.path());
        let ledger = Ledger::new(journal);
        let desk = Desk::new(ledger.clone(), clock.clone());
        desk.answer(request, yes(AllowFor::Count(5)), ada())
            .await
            .unwrap();
        let leave = desk.standing_leaves().await.unwrap().remove(0);
        desk.revoke_leave(leave.session, leave.leave, None, ada())
            .await
            .unwrap();
        assert_eq!(desk.standing_leaves().await.unwrap(), []);
        ledger.journal().close().await.unwrap();
    }
    let running = engine(&place, &clock).await;
    assert_eq!(running.standing_leaves().await.unwrap(), []);
    running.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn provider_gives_no_leave() {
    let (place, clock) = (tempfile::tempdir().unwrap(), ManualClock::new());
    let provider = |_: recount::engine::ConfirmationRequest| async { yes(AllowFor::Count(5)) };
    let engine = store::engine(place.path())
        .agent("desk", agent().confirmation_provider(Arc::new(provider)))
        .clock(clock.clone())
        .open()
        .await
        .unwrap();
    let live = engine.session("desk").open().await.unwrap();
    let mut updates = live.subscribe();
    let calling = live.clone();
    tokio::spawn(async move {
        let pipeline = Actor::embedder("pipeline");
        let _ = calling.call_function("mail", json!({}), pipeline).await;
    });
    let is_refused = |event: &recount::session::Event| event.kind() == "answer_refused";
    updates.wait_for(is_refused).await.unwrap();
    assert_eq!(live.pending().await.unwrap().len(), 1);
    assert_eq!(engine.standing_leaves().await.unwrap(), []);
    engine.shutdown(Duration::ZERO).await.unwrap();
}
