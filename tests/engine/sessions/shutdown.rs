//! Nothing starts during a shutdown: a call that waits for a slot counts as not started, and runs
//! once with the next engine.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::surviving::SurvivingJournal;
use recount::engine::Clock;
use recount::journal::BoxFuture;
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::session::{Event, Fact, Observation, Outcome, Seq, Start, Timestamp, ToolPolicy};
use recount::testing::{ManualClock, ScriptedModel};
use tokio::sync::Notify;

const SCRIPT: &str = r#"
{"on": {"text": "ship"}, "send": [{"call": [{"id": "s", "name": "ship"}]}]}
{"on": {"text": "pay"}, "send": [{"call": [{"id": "p", "name": "pay"}]}]}
{"on": {"text": "refund"}, "send": [{"call": [{"id": "r", "name": "refund"}]}]}
{"on": "otherwise", "send": [{"say": "Well."}]}
"#;

/// A journal, a clock that stands still, and the runs of the tools.
struct Till {
    journal: Arc<SurvivingJournal>,
    clock: Arc<ManualClock>,
    model: ScriptedModel,
    release: Arc<Notify>,
    begun: Arc<AtomicUsize>,
}

impl Till {
    fn new() -> Till {
        Till {
            journal: SurvivingJournal::new(),
            clock: ManualClock::new(),
            model: ScriptedModel::parse(SCRIPT).unwrap(),
            release: Arc::default(),
            begun: Arc::default(),
        }
    }

    /// An engine with one slot. `ship` holds it until it is released; `pay` and the gated `refund`
    /// count their runs.
    async fn engine(&self) -> Engine {
        let release = self.release.clone();
        let ship = T::simple("ship", "Ships", move |_| {
            let release = release.clone();
            async move {
                release.notified().await;
                Ok(json!({"shipped": true}))
            }
        });
        let counted = |name: &'static str| {
            let begun = self.begun.clone();
            T::simple(name, "Moves money", move |_| {
                begun.fetch_add(1, Ordering::SeqCst);
                async { Ok(json!({"done": true})) }
            })
        };
        let refund = T::confirm(counted("refund"), "Refund?");
        let agent = Agent::new()
            .model("m")
            .tools(ship | counted("pay") | refund)
            .connect_to(self.model.clone());
        let engine = Engine::in_memory()
            .journal(self.journal.clone())
            .clock(self.clock.clone())
            .running_max(1)
            .agent("a", agent);
        engine.open().await.unwrap()
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    async fn settled(&self, session: SessionId) -> Vec<Outcome> {
        let loaded = Ledger::new(self.journal.clone()).load(session).await;
        let settled = loaded.unwrap().session.settled;
        settled.values().map(|it| it.outcome).collect()
    }

    /// The starts that are recorded as not begun.
    async fn not_begun(&self, session: SessionId) -> Vec<Start> {
        let facts = Ledger::new(self.journal.clone());
        let facts = facts.facts(session, Seq(1), 1_000).await.unwrap();
        let said = facts.into_iter().filter_map(|fact: Fact| match fact.event {
            Event::Observed(Observation::RunnerDetached(it)) => Some(it.not_begun),
            _ => None,
        });
        said.flatten().collect()
    }

    /// Runs the remaining calls with the next engine, and ends it.
    async fn next_engine(&self) {
        let next = self.engine().await;
        settle().await;
        next.shutdown(Duration::ZERO).await.unwrap();
    }
}

async fn settle() {
    for _ in 0..500 {
        tokio::task::yield_now().await;
    }
}

async fn saying(engine: &Engine, text: &str) -> LiveHandle {
    let live = engine.session("a").connect().await.unwrap();
    live.send_text(text).await.unwrap();
    settle().await;
    live
}

fn clerk() -> Actor {
    Actor::embedder("clerk")
}

#[tokio::test]
async fn call_waiting_for_slot_runs_once_with_next_engine() {
    for grace in [Duration::ZERO, Duration::from_secs(20)] {
        let till = Till::new();
        let engine = till.engine().await;
        let ships = saying(&engine, "ship").await;
        let pays = saying(&engine, "pay").await;
        let (ended, ()) = tokio::join!(engine.shutdown(grace), async {
            settle().await;
            // The slot becomes free.
            till.release.notify_one();
            settle().await;
        });
        ended.unwrap();
        assert_eq!(till.begun(), 0, "{grace:?}");
        let session = pays.session_id();
        assert_eq!(till.settled(session).await, [], "{grace:?}");
        let [start] = till.not_begun(session).await[..] else {
            unreachable!("one call waited");
        };
        assert_eq!(start.attempt, 1);
        let shipped = if grace.is_zero() {
            Outcome::Unknown
        } else {
            Outcome::Returned
        };
        assert_eq!(till.settled(ships.session_id()).await, [shipped]);
        assert_eq!(till.not_begun(ships.session_id()).await, []);

        till.next_engine().await;
        assert_eq!(till.settled(session).await, [Outcome::Returned]);
        assert_eq!(till.begun(), 1);
    }
}

#[tokio::test]
async fn call_waiting_for_slot_at_disconnect_is_not_in_doubt() {
    let till = Till::new();
    let engine = till.engine().await;
    let _ships = saying(&engine, "ship").await;
    let pays = saying(&engine, "pay").await;
    pays.disconnect().await.unwrap();
    till.release.notify_one();
    settle().await;
    assert_eq!(
        (till.begun(), pays.session().await.unwrap().calls.len()),
        (0, 1)
    );
    pays.connect().await.unwrap();
    settle().await;
    assert_eq!(till.begun(), 1);
    assert_eq!(till.settled(pays.session_id()).await, [Outcome::Returned]);
    engine.shutdown(Duration::ZERO).await.unwrap();
}

/// The model sends nothing of its own, so a connection does not reset the number of attempts.
const SILENT: &str = r#"
{"on": {"text": "ship"}, "send": [{"call": [{"id": "s", "name": "ship"}]}]}
{"on": {"text": "pay"}, "send": [{"call": [{"id": "p", "name": "pay"}]}]}
"#;

#[tokio::test]
async fn call_waiting_for_slot_at_final_loss_is_not_in_doubt() {
    let till = Till {
        model: ScriptedModel::parse(SILENT).unwrap(),
        ..Till::new()
    };
    let engine = till.engine().await;
    let _ships = saying(&engine, "ship").await;
    let pays = saying(&engine, "pay").await;
    let session = pays.session_id();
    // The service rejects the input twice.
    for _ in 0..2 {
        let aborted = "The operation was aborted.";
        till.model.drop_connection(1008, aborted);
        settle().await;
        till.clock.advance(Duration::from_secs(1));
        settle().await;
    }
    let [start] = till.not_begun(session).await[..] else {
        unreachable!("one call waited");
    };
    assert_eq!(start.attempt, 1);
    till.release.notify_one();
    settle().await;
    assert_eq!((till.begun(), till.settled(session).await), (0, vec![]));
    pays.connect().await.unwrap();
    settle().await;
    assert_eq!(till.begun(), 1);
    assert_eq!(till.settled(session).await, [Outcome::Returned]);
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn program_call_waiting_for_slot_is_told_it_never_runs() {
    let till = Till::new();
    let engine = till.engine().await;
    let ships = saying(&engine, "ship").await;
    let pipeline = Arc::new(engine.session("a").open().await.unwrap());
    let calling = pipeline.clone();
    let waits = tokio::spawn(async move { calling.call_function("pay", json!({}), clerk()).await });
    settle().await;
    let grace = engine.shutdown(Duration::from_secs(20));
    let (ended, late) = tokio::join!(grace, async {
        settle().await;
        let late = ships.call_function("pay", json!({}), clerk()).await;
        till.release.notify_one();
        late
    });
    ended.unwrap();
    assert!(matches!(waits.await.unwrap(), Err(ToolError::Cancelled(_))));
    assert!(matches!(late, Err(ToolError::Cancelled(_))), "{late:?}");
    till.next_engine().await;
    let session = pipeline.session_id();
    assert_eq!(till.settled(session).await, [Outcome::Cancelled]);
    assert_eq!(till.begun(), 0);
}

#[tokio::test]
async fn program_call_waiting_for_session_slot_is_told_it_never_runs() {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = begun.clone();
    let work = T::simple("work", "Never ends", move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        std::future::pending::<Result<Value, ToolError>>()
    });
    let engine = Engine::in_memory()
        .journal(journal)
        .clock(clock)
        .agent("a", Agent::new().model("m").tools(work).running_max(1));
    let engine = engine.open().await.unwrap();
    let pipeline = Arc::new(engine.session("a").open().await.unwrap());
    let calls = [1, 2].map(|number| {
        let calling = pipeline.clone();
        tokio::spawn(async move {
            let args = json!({ "number": number });
            calling.call_function("work", args, clerk()).await
        })
    });
    settle().await;
    assert_eq!(begun.load(Ordering::SeqCst), 1);
    engine.shutdown(Duration::ZERO).await.unwrap();
    let [_cut_off, waited] = calls;
    assert!(matches!(
        waited.await.unwrap(),
        Err(ToolError::Cancelled(_))
    ));
}

#[tokio::test]
async fn answer_within_grace_counts_and_next_engine_runs_call() {
    let till = Till::new();
    let engine = till.engine().await;
    let _ships = saying(&engine, "ship").await;
    let refunds = saying(&engine, "refund").await;
    let session = refunds.session_id();
    drop(refunds);
    settle().await;
    let [asked] = &engine.pending().await.unwrap()[..] else {
        unreachable!("one call waits for a person");
    };
    let (ended, ()) = tokio::join!(engine.shutdown(Duration::from_secs(20)), async {
        settle().await;
        let yes = ToolConfirmation::confirmed();
        engine.answer(asked.id, yes, clerk()).await.unwrap();
        settle().await;
        till.release.notify_one();
    });
    ended.unwrap();
    assert_eq!((till.begun(), till.settled(session).await), (0, vec![]));
    till.next_engine().await;
    assert_eq!(till.begun(), 1);
    assert_eq!(till.settled(session).await, [Outcome::Returned]);
}

#[tokio::test]
async fn call_given_slot_in_last_batch_of_runner_is_not_in_doubt() {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let model = ScriptedModel::parse(concat!(
        r#"{"on": "otherwise", "once": false, "send": [{"call": [{"id": "s", "name": "hang"},"#,
        r#" {"id": "p", "name": "pay"}]}]}"#,
    ))
    .unwrap();
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = begun.clone();
    let pay = T::simple("pay", "Pays", move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok(json!({})) }
    });
    let hang = T::simple("hang", "Hangs", |_| std::future::pending());
    let hang = T::timeout(hang, Duration::from_secs(5));
    let agent = Agent::new()
        .model("m")
        .tools(hang | pay)
        .running_max(1)
        .connect_to(model);
    let engine = Engine::in_memory()
        .journal(journal.clone())
        .clock(clock.clone())
        .agent("a", agent);
    let engine = engine.open().await.unwrap();
    let live = saying(&engine, "go").await;
    let session = live.session_id();
    clock.advance(Duration::from_secs(6));
    live.disconnect().await.unwrap();
    settle().await;
    assert_eq!(begun.load(Ordering::SeqCst), 0);
    let facts = Ledger::new(journal.clone())
        .facts(session, Seq(1), 1_000)
        .await
        .unwrap();
    for f in &facts {
        println!("{} {} {}", f.seq, f.event.kind(), f.event.body().unwrap());
    }
    live.connect().await.unwrap();
    settle().await;
    let loaded = Ledger::new(journal.clone())
        .load(session)
        .await
        .unwrap()
        .session;
    let ends: Vec<Outcome> = loaded.settled.values().map(|it| it.outcome).collect();
    assert_eq!(ends, [Outcome::TimedOut, Outcome::Returned]);
    engine.shutdown(Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn a_second_shutdown_does_not_cut_the_first_one_short() {
    let till = Till::new();
    let engine = till.engine().await;
    let ships = saying(&engine, "ship").await;
    let (first, second) = (engine.clone(), engine.clone());
    let first = tokio::spawn(async move { first.shutdown(Duration::from_secs(20)).await });
    settle().await;
    let second = tokio::spawn(async move { second.shutdown(Duration::from_secs(20)).await });
    settle().await;
    assert!(!first.is_finished(), "the tool still runs");
    till.release.notify_one();
    second.await.unwrap().unwrap();
    first.await.unwrap().unwrap();
    assert_eq!(till.settled(ships.session_id()).await, [Outcome::Returned]);
}

/// A clock that blocks the thread of the first timer at the moment when it is due.
struct HoldingUp {
    clock: Arc<ManualClock>,
    door: Arc<Mutex<Option<Door>>>,
}

struct Door {
    reached: std::sync::mpsc::Sender<()>,
    opened: std::sync::mpsc::Receiver<()>,
}

impl Clock for HoldingUp {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn reached(&self, due: Timestamp) -> BoxFuture<'static, ()> {
        let (reached, door) = (self.clock.reached(due), self.door.clone());
        Box::pin(async move {
            reached.await;
            let door = door.lock().unwrap().take();
            if let Some(Door { reached, opened }) = door {
                reached.send(()).unwrap();
                opened.recv().unwrap();
            }
        })
    }

    fn entropy(&self) -> u64 {
        self.clock.entropy()
    }

    fn new_session(&self) -> SessionId {
        self.clock.new_session()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn session_woken_during_shutdown_ends_before_journal() {
    let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
    let hour = Duration::from_secs(60 * 60);
    let agent = || {
        let refund = T::simple("refund", "Refunds", |_| async { Ok(json!({})) });
        let mut gate = ToolPolicy::gate("Refund?");
        gate.gate_terms.expires_after = Some(hour);
        let model = ScriptedModel::parse(SCRIPT).unwrap();
        let agent = Agent::new().model("m").connect_to(model);
        agent.tools(T::policy(refund, gate))
    };
    let engine = Engine::in_memory().journal(journal.clone());
    let engine = engine.clock(clock.clone()).agent("a", agent());
    let engine = engine.open().await.unwrap();
    let live = engine.session("a").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("refund").await.unwrap();
    let asked = updates.wait_for(|it| it.kind() == "confirmation_requested");
    asked.await.unwrap();
    engine.shutdown(Duration::ZERO).await.unwrap();

    let (reached, comes) = std::sync::mpsc::channel();
    let (open, opened) = std::sync::mpsc::channel();
    let door = Arc::new(Mutex::new(Some(Door { reached, opened })));
    let holding = Arc::new(HoldingUp {
        clock: clock.clone(),
        door,
    });
    let engine = Engine::in_memory().journal(journal.clone()).clock(holding);
    let engine = engine.agent("a", agent()).open().await.unwrap();
    clock.advance(hour);
    comes.recv().unwrap();
    let mut ending = std::pin::pin!(engine.shutdown(Duration::ZERO));
    let first = futures_util::poll!(&mut ending);
    assert!(first.is_pending(), "a session is being woken");
    open.send(()).unwrap();
    ending.await.unwrap();
    let ledger = Ledger::new(journal);
    let records = async || {
        let facts = ledger.facts(live.session_id(), Seq(1), 1_000).await;
        facts.unwrap().len()
    };
    let then = records().await;
    settle().await;
    assert_eq!(records().await, then, "nothing is written after the end");
}
