//! Races of clients: eight claim one call, and a lease ends while the result is on its way. Each
//! race has one outcome, and every client learns which. `RECOUNT_RACES` sets the number of races.

use std::sync::Arc;
use std::time::Duration;

use crate::surviving::SurvivingJournal;
use recount::engine::{ClaimRequest, ClientAction, Error, Operated, Operation};
use recount::prelude::*;
use recount::session::{
    ClaimRejection, Decision, Event, Json, Lease, Observation, Outcome, Rejection, Seq,
};
use recount::testing::ManualClock;
use tokio::sync::Barrier;

const CLIENTS: usize = 8;

fn races() -> u32 {
    std::env::var("RECOUNT_RACES").map_or(40, |it| it.parse().unwrap())
}

fn pack(rule: InDoubt) -> Toolset {
    let schema = json!({"type": "object"});
    T::in_doubt(T::client("pack", "Packs an order", schema), rule)
}

/// A session with a call that is ready for a client.
struct Race {
    engine: Engine,
    live: LiveHandle,
    clock: Arc<ManualClock>,
    call: Seq,
    caller: tokio::task::JoinHandle<()>,
}

async fn race(rule: InDoubt) -> Race {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let agent = Agent::new().model("none").tools(pack(rule));
    let engine = Engine::in_memory().journal(journal).clock(clock.clone());
    let engine = engine.agent("shop", agent).open().await.unwrap();
    let live = engine.session("shop").open().await.unwrap();
    let mut updates = live.subscribe();
    let handle = live.clone();
    let caller = tokio::spawn(async move {
        let by = Actor::embedder("pipeline");
        let _ = handle.call_function("pack", json!({"order": 7}), by).await;
    });
    updates.wait_for(|event| event.kind() == "call_ready").await;
    let session = live.session().await.unwrap();
    let call = *session.calls.keys().next().unwrap();
    Race {
        engine,
        live,
        clock,
        call,
        caller,
    }
}

async fn decisions(race: &Race) -> Vec<Event> {
    let ledger = race.engine.ledger();
    let facts = ledger.facts(race.live.session_id(), Seq(1), 1000).await;
    facts.unwrap().into_iter().map(|it| it.event).collect()
}

fn named(client: usize) -> Actor {
    Actor::embedder(format!("client {client}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_eight_clients_gets_the_call() {
    for _ in 0..races() {
        let race = race(InDoubt::Ask).await;
        let barrier = Arc::new(Barrier::new(CLIENTS));
        let session = race.live.session_id();
        let mut clients = Vec::new();
        for client in 0..CLIENTS {
            let (engine, barrier) = (race.engine.clone(), barrier.clone());
            let request = ClaimRequest::new(format!("claim {client}")).of_call(session, race.call);
            clients.push(tokio::spawn(async move {
                barrier.wait().await;
                engine.claim(&request, named(client)).await
            }));
        }
        let (mut winners, mut told) = (Vec::new(), Vec::new());
        for (client, claimed) in clients.into_iter().enumerate() {
            match claimed.await.unwrap() {
                Ok(Some(call)) => winners.push((client, call)),
                Err(Error::Refused(Rejection::Claim(ClaimRejection::AlreadyClaimed {
                    by,
                    until,
                    ..
                }))) => told.push((by, until)),
                other => panic!("{other:?}"),
            }
        }
        let [(winner, call)] = &winners[..] else {
            panic!("{winners:?}");
        };
        let expected = (named(*winner), call.until);
        assert_eq!(told, vec![expected; CLIENTS - 1]);
        let records = decisions(&race).await;
        let claims = records.iter().filter(|it| it.kind() == "call_claimed");
        assert_eq!(claims.count(), 1);
        race.caller.abort();
        race.engine.shutdown(Duration::ZERO).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn lease_that_ends_during_the_result_has_one_outcome() {
    let (mut late_ones, mut in_time) = (0, 0);
    for round in 0..races() {
        let rule = match round % 3 {
            0 => InDoubt::SettleUnknown,
            1 => InDoubt::Ask,
            _ => InDoubt::Retry,
        };
        let race = race(rule).await;
        let request = ClaimRequest::new("claim").tool("pack");
        let call = race
            .engine
            .claim(&request, named(0))
            .await
            .unwrap()
            .unwrap();
        let barrier = Arc::new(Barrier::new(2));
        let (clock, met) = (race.clock.clone(), barrier.clone());
        let ends = tokio::spawn(async move {
            met.wait().await;
            clock.advance(Duration::from_millis(Lease::DEFAULT.millis()));
        });
        let (engine, key) = (race.engine.clone(), call.key());
        let finishes = tokio::spawn(async move {
            barrier.wait().await;
            let action = ClientAction::Return(Ok(Json::of(&json!({"packed": 4}))));
            let finish = Operation::Client { key, action };
            engine.operate(finish, named(0)).await
        });
        ends.await.unwrap();
        let late = match finishes.await.unwrap().unwrap() {
            Operated::OnRecord(it) => it.late,
            other => panic!("{other:?}"),
        };
        let records = decisions(&race).await;
        let passed = records.iter().any(|it| it.kind() == "deadline_passed");
        assert_eq!(late, passed, "{records:?}");
        let is_end = |event: &&Event| match event {
            Event::Decided(Decision::ResponseIssued(it)) => it.outcome != Outcome::Interim,
            _ => false,
        };
        assert_eq!(records.iter().filter(is_end).count(), 1);
        let results = records.iter().filter(|it| match it {
            Event::Observed(Observation::ToolReturned(_) | Observation::OutcomeFound(_)) => true,
            Event::Observed(_) | Event::Decided(_) => false,
        });
        assert_eq!(results.count(), 1);
        late_ones += u32::from(late);
        in_time += u32::from(!late);
        race.caller.abort();
        race.engine.shutdown(Duration::ZERO).await.unwrap();
    }
    println!("{late_ones} results came after their lease, {in_time} in time");
}
