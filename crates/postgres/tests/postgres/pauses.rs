//! Pauses of more than one session over several nodes: after the command returns, none starts a
//! call.

use std::sync::Arc;
use std::time::Duration;

use recount::engine::{Desk, Error, Operated, Operation, SystemClock};
use recount::journal::Journal;
use recount::ledger::{Ledger, PauseTarget};
use recount::prelude::*;
use recount::session::{Json, Seq, SessionId};
use tokio::sync::mpsc;

use crate::place::Place;

/// A node whose tools tell that they run: `step`, and `haul`, which does not end.
async fn node(
    place: &Place,
    name: &'static str,
    runs: &mpsc::UnboundedSender<&'static str>,
) -> Engine {
    let (steps, hauls) = (runs.clone(), runs.clone());
    let step = T::simple("step", "Steps", move |_| {
        let steps = steps.clone();
        async move {
            steps.send(name).unwrap();
            Ok(json!({}))
        }
    });
    let haul = T::simple("haul", "Hauls", move |_| {
        let hauls = hauls.clone();
        async move {
            hauls.send(name).unwrap();
            std::future::pending().await
        }
    });
    let agent = Agent::new().model("none").strict();
    let agent = agent.tools(step).tools(haul);
    let builder = Engine::in_memory().journal(place.node(name));
    builder.agent("support", agent).open().await.unwrap()
}

async fn opened(node: &Engine) -> SessionId {
    let live = node.session("support").open().await.unwrap();
    live.session_id()
}

/// Makes a call at a node, and returns it.
async fn call(node: &Engine, session: SessionId, tool: &str, key: &str) -> Seq {
    let call = Operation::Call {
        session,
        tool: tool.to_owned(),
        args: Json::empty_object(),
        key: key.to_owned(),
    };
    let Operated::OnRecord(it) = node.operate(call, ada()).await.unwrap() else {
        panic!("the call is recorded");
    };
    it.seq
}

/// True if the start of the call is on record, and no end.
async fn runs(node: &Engine, session: SessionId, call: Seq) -> bool {
    let loaded = node.ledger().load(session).await.unwrap();
    loaded.session.calls.get(&call).is_some_and(|it| it.runs())
}

fn ada() -> Actor {
    Actor::embedder("ada")
}

fn pause(cancel_running: bool) -> Operation {
    Operation::Pause {
        target: PauseTarget::Everything,
        reason: Some("the bank is down".to_owned()),
        cancel_running,
    }
}

/// A node of the database that starts calls, and does not answer.
async fn add_silent_node(place: &Place) {
    let insert = "INSERT INTO node (id, name, until, applied)
        VALUES (gen_random_uuid(), 'silent', 'infinity', 0)";
    assert_eq!(place.execute(insert).await, 1);
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn no_call_starts_at_another_node_once_the_pause_returned() {
    let (place, (told, mut ran)) = (Place::new(), mpsc::unbounded_channel());
    let (a, b) = (
        node(&place, "a", &told).await,
        node(&place, "b", &told).await,
    );
    // Its node keeps it.
    let live = b.session("support").open().await.unwrap();
    let session = live.session_id();
    for round in 0..20 {
        a.operate(pause(false), ada()).await.unwrap();
        let call = call(&b, session, "step", &format!("{round}")).await;
        assert!(!runs(&b, session, call).await, "round {round}");
        assert!(ran.try_recv().is_err(), "round {round}");
        let everything = PauseTarget::Everything;
        a.unpause(everything, None, ada()).await.unwrap();
        assert_eq!(ran.recv().await, Some("b"));
    }
    drop(live);
    for node in [a, b] {
        node.shutdown(Duration::ZERO).await.unwrap();
    }
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn pause_waits_for_a_node_until_it_applied_it_or_lost_its_lease() {
    let place = Place::new();
    let (told, _ran) = mpsc::unbounded_channel();
    let (a, b) = (
        node(&place, "a", &told).await,
        node(&place, "b", &told).await,
    );
    add_silent_node(&place).await;
    let (applies, loses) = (
        "UPDATE node SET applied = 1000 WHERE name = 'silent'",
        "UPDATE node SET until = clock_timestamp() WHERE name = 'silent'",
    );
    for (end, again) in [
        (applies, "UPDATE node SET applied = 0 WHERE name = 'silent'"),
        (loses, ""),
    ] {
        let at_a = a.clone();
        let pausing = tokio::spawn(async move { at_a.operate(pause(false), ada()).await });
        // The other node has applied it.
        while b.pauses().await.unwrap().is_empty() {
            b.ledger().journal().sharing().unwrap().changed(0).await;
        }
        let applied = "SELECT FROM node WHERE name = 'b' AND applied >=
            (SELECT seq FROM head WHERE session = '00000000-0000-0000-0000-000000000000')";
        while place.execute(applied).await == 0 {}
        assert!(!pausing.is_finished());
        place.execute(end).await;
        let paused = pausing.await.unwrap().unwrap();
        assert!(matches!(paused, Operated::OnRecord(_)), "{paused:?}");
        a.unpause(PauseTarget::Everything, None, ada())
            .await
            .unwrap();
        if !again.is_empty() {
            place.execute(again).await;
        }
    }
    for node in [a, b] {
        node.shutdown(Duration::ZERO).await.unwrap();
    }
}

/// The clock of the test jumps to the end of the wait.
#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(start_paused = true)]
async fn pause_that_a_node_does_not_confirm_says_so() {
    let place = Place::new();
    let journal: Arc<dyn Journal> = place.node("desk");
    add_silent_node(&place).await;
    let desk = Desk::new(Ledger::new(journal), SystemClock::shared());
    let paused = desk.operate(pause(false), ada()).await.unwrap();
    let Operated::OnRecordBut(it, error) = paused else {
        panic!("{paused:?}");
    };
    let Error::PauseUnconfirmed { at, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(it.seq, *at);
    assert!(error.to_string().contains("silent"), "{error}");
    // It is in force all the same.
    let again = desk.operate(pause(false), ada()).await.unwrap();
    assert!(matches!(again, Operated::Refused(_)), "{again:?}");
}

#[ignore = "needs PostgreSQL: run by .ci/postgres"]
#[tokio::test(flavor = "multi_thread")]
async fn pause_cancels_what_runs_at_every_node() {
    let (place, (told, mut ran)) = (Place::new(), mpsc::unbounded_channel());
    let (a, b) = (
        node(&place, "a", &told).await,
        node(&place, "b", &told).await,
    );
    let desk: Arc<dyn Journal> = place.node("desk");
    let desk = Desk::new(Ledger::new(desk), SystemClock::shared());
    for round in 0..2 {
        let mut calls = Vec::new();
        for node in [&a, &b] {
            let session = opened(node).await;
            calls.push((session, call(node, session, "haul", "once").await));
            ran.recv().await.unwrap();
        }
        let paused = match round {
            0 => a.operate(pause(true), Actor::embedder("eve")).await,
            _ => desk.operate(pause(true), Actor::embedder("eve")).await,
        };
        assert!(matches!(paused.unwrap(), Operated::OnRecord(_)));
        for (session, call) in calls {
            assert!(!runs(&a, session, call).await);
            let facts = a.ledger().facts(session, call, 100).await.unwrap();
            let cancelled = facts
                .iter()
                .filter(|it| it.event.kind() == "operator_cancelled")
                .count();
            assert_eq!(cancelled, 1);
        }
        a.unpause(PauseTarget::Everything, None, ada())
            .await
            .unwrap();
    }
    for node in [a, b] {
        node.shutdown(Duration::ZERO).await.unwrap();
    }
}
