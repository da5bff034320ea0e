//! Law 1, write ahead: nothing happens that is not recorded, and if no append succeeds, nothing
//! happens.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::demo_session::{
    Outcomes, assert_as_uninterrupted, outcomes, script, see_through, take_up, tools,
};
use crate::surviving::SurvivingJournal;
use recount::engine::Error;
use recount::journal::Journal;
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::replay;
use recount::session::{Decision, Event, Observation, Seq};
use recount::testing::{
    Crash, CrashPoint, CrashingConnector, CrashingJournal, FailingJournal, ScriptedModel,
};
use tokio::sync::Notify;

/// The state that outlives an engine.
struct World {
    journal: Arc<SurvivingJournal>,
    model: ScriptedModel,
    ran: Arc<Mutex<Vec<String>>>,
}

impl World {
    fn new() -> World {
        World {
            journal: SurvivingJournal::new(),
            model: ScriptedModel::new(script()),
            ran: Arc::default(),
        }
    }

    async fn engine(&self, journal: Arc<dyn Journal>, crash: &Arc<Crash>) -> Engine {
        let ran = self.ran.clone();
        let note = move |name: &str| ran.lock().unwrap().push(name.to_owned());
        let agent = Agent::new()
            .model("scripted")
            .tools(tools(note, crash))
            .connect_to(CrashingConnector::new(self.model.clone(), crash));
        let engine = Engine::in_memory().journal(journal).agent("support", agent);
        engine.open().await.unwrap()
    }

    fn ran(&self) -> Vec<String> {
        self.ran.lock().unwrap().clone()
    }

    /// Asserts that every run, every response and every text to the model has a record.
    async fn assert_nothing_beyond_the_record(&self, when: &str) {
        let ledger = Ledger::new(self.journal.clone());
        let (mut starts, mut responses, mut texts) = (BTreeMap::<_, usize>::new(), 0, 0);
        let mut names = BTreeMap::new();
        for summary in ledger.sessions().await.unwrap() {
            for fact in ledger.facts(summary.id, Seq(1), 10_000).await.unwrap() {
                match &fact.event {
                    Event::Observed(Observation::FunctionCallReceived(it)) => {
                        names.insert(fact.seq, it.name.clone().unwrap());
                    }
                    Event::Observed(Observation::UserTextSent(_)) => texts += 1,
                    Event::Decided(Decision::CallStarted(it)) => {
                        *starts.entry(names[&it.call].clone()).or_default() += 1;
                    }
                    Event::Decided(Decision::ResponseIssued(_)) => responses += 1,
                    Event::Observed(_) | Event::Decided(_) => {}
                }
            }
        }
        for name in names.values() {
            let ran = self.ran().iter().filter(|it| *it == name).count();
            let started = starts.get(name).copied().unwrap_or(0);
            assert!(
                ran <= started,
                "{name} ran {ran} times of {started}, {when}"
            );
        }
        assert!(
            self.ran()
                .iter()
                .all(|name| names.values().any(|it| it == name)),
            "{when}"
        );
        let transcript = self.model.transcript();
        assert!(transcript.answers().count() <= responses, "{when}");
        assert!(transcript.told().count() <= texts, "{when}");
    }

    /// Finishes the session with a new engine over the records.
    async fn goes_on(&self, when: &str) -> (Outcomes, std::collections::BTreeSet<String>) {
        let engine = self
            .engine(self.journal.clone(), &Arc::new(Crash::never()))
            .await;
        let live = take_up(&engine).await.unwrap();
        see_through(&live, "Once again: what about order 1001?")
            .await
            .unwrap();
        let session = live.session_id();
        engine.shutdown(std::time::Duration::ZERO).await.unwrap();
        let ledger = Ledger::new(self.journal.clone());
        let replayed = replay::verify(&ledger, session).await.unwrap();
        assert_eq!(replayed.diverged, None, "{when}");
        outcomes(&ledger, session, &self.ran(), &self.model.transcript()).await
    }
}

async fn smooth() -> (Outcomes, usize) {
    let world = World::new();
    let crash = Arc::new(Crash::never());
    let journal = Arc::new(CrashingJournal::new(world.journal.clone(), &crash));
    let engine = world.engine(journal, &crash).await;
    let live = take_up(&engine).await.unwrap();
    see_through(&live, "Please help me with order 1001.")
        .await
        .unwrap();
    engine.shutdown(std::time::Duration::ZERO).await.unwrap();
    let ledger = Ledger::new(world.journal.clone());
    let transcript = world.model.transcript();
    let (outcomes, cut) = outcomes(&ledger, live.session_id(), &world.ran(), &transcript).await;
    assert!(cut.is_empty(), "{cut:?}");
    (outcomes, crash.batches())
}

#[tokio::test]
async fn failing_journal_runs_and_sends_nothing_and_caller_learns_why() {
    let (smooth, batches) = smooth().await;
    assert!(batches > 10, "only {batches} batches");
    for n in 1..=batches {
        let when = format!("after append {n} failed");
        let world = World::new();
        let failing = Arc::new(FailingJournal::new(world.journal.clone(), n));
        let engine = world
            .engine(failing.clone(), &Arc::new(Crash::never()))
            .await;
        match take_up(&engine).await {
            Ok(live) => {
                let mut updates = live.subscribe();
                let said = tokio::select! {
                    said = see_through(&live, "Please help me with order 1001.") => said,
                    () = failing.failed() => Ok(()),
                };
                if let Err(error) = said {
                    assert_names_the_cause(&error, &when);
                }
                all_is_quiet().await;
                if failing_has_failed(&failing).await {
                    world.assert_nothing_beyond_the_record(&when).await;
                    let told = async { while updates.next().await.is_some() {} };
                    tokio::select! {
                        biased;
                        () = told => {}
                        () = all_is_quiet() => panic!("subscribers wait forever, {when}"),
                    }
                    let before = (world.ran(), world.model.transcript().received().count());
                    for refused in [
                        live.send_text("Hello?").await.unwrap_err(),
                        live.session().await.unwrap_err(),
                        live.disconnect().await.unwrap_err(),
                        engine
                            .close_session(live.session_id(), "over", Actor::embedder("ada"))
                            .await
                            .unwrap_err(),
                    ] {
                        assert_names_the_cause(&refused, &when);
                    }
                    all_is_quiet().await;
                    let after = (world.ran(), world.model.transcript().received().count());
                    assert_eq!(before, after, "{when}");
                }
            }
            Err(error) => {
                assert_names_the_cause(&error, &when);
                assert_eq!(world.model.transcript().told().count(), 0, "{when}");
            }
        }
        // The shutdown ends the remaining tasks; they know that the journal fails.
        let _ = engine.shutdown(std::time::Duration::ZERO).await;
        world.assert_nothing_beyond_the_record(&when).await;
        let found = world.goes_on(&when).await;
        assert_as_uninterrupted(&found, &smooth, &when);
    }
}

#[tokio::test]
async fn while_an_append_is_under_way_none_of_its_effects_has_begun() {
    let (_, batches) = smooth().await;
    for n in 1..=batches {
        for point in [CrashPoint::BeforeAppend, CrashPoint::Durable] {
            let when = format!("held at {point:?} of append {n}");
            let world = World::new();
            let held = Arc::new(Notify::new());
            let told = held.clone();
            let crash = Arc::new(Crash::at(n, point, move || told.notify_one()));
            let journal = Arc::new(CrashingJournal::new(world.journal.clone(), &crash));
            let engine = world.engine(journal, &crash).await;
            let conversation = async {
                let live = take_up(&engine).await.unwrap();
                let _ = see_through(&live, "Please help me with order 1001.").await;
            };
            tokio::select! {
                () = conversation => {}
                () = held.notified() => {}
            }
            all_is_quiet().await;
            world.assert_nothing_beyond_the_record(&when).await;
        }
    }
}

async fn failing_has_failed(failing: &FailingJournal) -> bool {
    tokio::select! {
        biased;
        () = failing.failed() => true,
        () = std::future::ready(()) => false,
    }
}

fn assert_names_the_cause(error: &Error, when: &str) {
    let told = error.to_string();
    assert!(told.contains(FailingJournal::CAUSE), "{when}: {told}");
}

/// Yields until all tasks are idle.
async fn all_is_quiet() {
    for _ in 0..500 {
        tokio::task::yield_now().await;
    }
}
