//! A session with a standing leave, a pause of everything and a call at a client, killed at the
//! four points of every batch. Among the batches are the two records of a pause: the one in the
//! journal's own stream, and the session's own.
//!
//! The next process finishes the session with the same requests. Each call runs as often as its
//! rule allows, no leave is used beyond its count, and nothing starts while the pause holds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::surviving::SurvivingJournal;
use recount::engine::{ClaimRequest, Error};
use recount::ledger::{Ledger, PauseTarget};
use recount::prelude::*;
use recount::session::{AllowFor, Decision, Event, Json, Lease, Observation, Rejection, Seq};
use recount::testing::{Crash, CrashPoint, CrashingJournal, CrashingTool, Life, ManualClock};
use tokio::task::yield_now;

use crate::journal::assert_lawful;
use crate::restart::world::{Till, wait};

/// The parts that outlive the processes.
struct Home {
    journal: Arc<SurvivingJournal>,
    clock: Arc<ManualClock>,
    till: Till,
}

fn ada() -> Actor {
    Actor::embedder("ada")
}

impl Home {
    fn life(&self, crash: &Arc<Crash>) -> Life {
        let pay = CrashingTool::new(self.till.pays(), crash);
        let pay = T::may_allow_for_session(T::confirm(pay, "Pay this?"));
        let pack = T::client("pack", "Packs", json!({"type": "object"}));
        let agent = Agent::new().tools(pay).tools(T::idempotent(pack));
        let journal = Arc::new(CrashingJournal::new(self.journal.clone(), crash));
        Life::begin(&journal, &self.clock, [("shop", agent)])
    }

    fn story(&self, life: &Life) -> impl Future<Output = ()> + Send + use<> {
        let (engine, clock, till) = (life.engine().clone(), self.clock.clone(), self.till.clone());
        story(engine, clock, move || till.runs().len())
    }
}

/// Makes a call that a former process may have made. `None` if the process stops meanwhile.
async fn call(live: LiveHandle, tool: &'static str, key: &'static str) {
    let called = live.call_with_key(tool, json!({"for": key}), key, ada());
    let _ = called.await;
}

/// The requests of the story. They can be made again after a restart.
async fn story(engine: Engine, clock: Arc<ManualClock>, runs: impl Fn() -> usize + Send) {
    let sessions = engine.sessions().await.unwrap();
    let live = match sessions.first() {
        Some(known) => engine.reopen(known.id).await.unwrap(),
        None => engine.session("shop").open().await.unwrap(),
    };
    let asking = tokio::spawn(call(live.clone(), "pay", "first"));
    while !asking.is_finished() {
        for asked in engine.pending().await.unwrap() {
            let yes = ToolConfirmation::confirmed().and_allow_for(AllowFor::Count(2));
            let _ = engine.answer(asked.id, yes, ada()).await;
        }
        yield_now().await;
    }
    call(live.clone(), "pay", "second").await;
    let packing = tokio::spawn(call(live.clone(), "pack", "order"));
    match engine
        .pause(PauseTarget::Everything, None, false, ada())
        .await
    {
        Ok(_) | Err(Error::Refused(Rejection::AlreadyPaused(_))) => {}
        Err(error) => panic!("{error}"),
    }
    let before = runs();
    let held = tokio::spawn(call(live.clone(), "pay", "third"));
    for _ in 0..50 {
        yield_now().await;
    }
    let claimed = engine.claim(&ClaimRequest::new("paused"), ada()).await;
    assert_eq!((claimed.unwrap(), runs()), (None, before));
    match engine.unpause(PauseTarget::Everything, None, ada()).await {
        Ok(_) | Err(Error::Refused(Rejection::NotPaused { .. })) => {}
        Err(error) => panic!("{error}"),
    }
    held.await.unwrap();
    while !packing.is_finished() {
        let claimed = engine.claim(&ClaimRequest::new("w"), ada()).await.unwrap();
        if let Some(call) = claimed {
            let renewed = engine.renew_claim(call.key(), Lease::DEFAULT, ada());
            renewed.await.unwrap();
            let packed = Ok(Json::of(&json!({"packed": 1})));
            engine
                .finish_claim(call.key(), packed, ada())
                .await
                .unwrap();
        } else {
            // A process died that held the call.
            clock.advance(Duration::from_secs(60));
        }
        yield_now().await;
    }
}

#[test]
fn held_calls_survive_a_kill_at_every_point() {
    let (mut kills, mut batches) = (0, 0);
    let mut batch = 0;
    loop {
        batch += 1;
        let mut reached = 0;
        for point in CrashPoint::ALL {
            let home = Home {
                journal: SurvivingJournal::new(),
                clock: ManualClock::new(),
                till: Till::default(),
            };
            let crash = Arc::new(Crash::at(batch, point, || {}));
            let life = home.life(&crash);
            life.run(async { drop(tokio::spawn(home.story(&life))) });
            for _ in 0..8 {
                life.settle();
            }
            life.crash();
            reached += usize::from(crash.is_reached());
            let life = home.life(&Arc::new(Crash::never()));
            life.run(home.story(&life));
            life.end();
            check(&home, &format!("killed at {point:?} of {batch}"));
        }
        kills += reached;
        batches += usize::from(reached > 0);
        if reached == 0 {
            break;
        }
    }
    println!("{batches} batches, {kills} kills");
    assert!(batches > 14, "only {batches} batches");
}

fn check(home: &Home, killed: &str) {
    let ledger = Ledger::new(home.journal.clone());
    let sessions = wait(ledger.sessions()).unwrap();
    assert_eq!(sessions.len(), 1, "{killed}");
    let session = sessions[0].id;
    wait(assert_lawful(&ledger, session));
    let facts = wait(ledger.facts(session, Seq(1), 10_000)).unwrap();
    let mut runs: BTreeMap<String, usize> = BTreeMap::new();
    for (_, key) in home.till.runs() {
        *runs.entry(key).or_default() += 1;
    }
    assert!(runs.values().all(|it| *it == 1), "{killed}: {runs:?}");
    let (mut paused, mut used, mut asked) = (false, 0, 0);
    for fact in &facts {
        match &fact.event {
            Event::Observed(Observation::Paused(_)) => paused = true,
            Event::Observed(Observation::Unpaused(_)) => paused = false,
            Event::Decided(Decision::CallStarted(it)) => {
                assert!(!paused, "{killed}: {} started in a pause", it.call);
            }
            Event::Decided(Decision::LeaveUsed(_)) => used += 1,
            Event::Decided(Decision::ConfirmationRequested(_)) => asked += 1,
            Event::Observed(_) | Event::Decided(_) => {}
        }
    }
    assert_eq!((used, asked), (2, 1), "{killed}");
    let folded = wait(ledger.load(session)).unwrap().session;
    assert!(folded.calls.is_empty(), "{killed}: {:?}", folded.calls);
    assert_eq!(folded.settled.len(), 4, "{killed}");
}
