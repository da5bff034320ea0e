//! A replay gives equal reports in every run and on any number of threads, and runs no tools.
#![cfg(feature = "testing")]
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

#[path = "../crates/session/tests/laws/generator.rs"]
mod generator;
#[path = "../crates/session/tests/lawful/recording.rs"]
#[expect(dead_code, reason = "the laws use the rest of it")]
mod recording;
#[path = "replay/states.rs"]
mod states;
#[path = "../crates/session/tests/laws/terms.rs"]
mod terms;
#[path = "replay/what_if.rs"]
mod what_if;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use generator::{recordings, wild_recordings};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use recording::{Recording, decided, observed};
use recount::journal::{DiskJournal, Durability, block_on};
use recount::ledger::{Ledger, Objects, Seal, Tail};
use recount::prelude::*;
use recount::replay::{self, Report};
use recount::session::{Fact, Observation, evolve, open_work};
use recount::testing::ScriptedModel;
use tokio::runtime;
use tokio::task::JoinSet;

proptest! {
    #![proptest_config(ProptestConfig {
        // A failure is printed as a readable history, so no seed file is kept.
        failure_persistence: None,
        cases: 2 * ProptestConfig::default().cases,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_same_policies_change_nothing(recording in wild_recordings()) {
        what_if::the_same_policies_change_nothing(&recording).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn other_policies_leave_the_record_as_it_is(recording in wild_recordings()) {
        let verdict = what_if::other_policies_leave_the_record_as_it_is(&recording);
        verdict.map_err(TestCaseError::fail)?;
    }
}

/// The number of generated sessions that are replayed.
const SESSIONS: usize = 200;
/// The number of runs per thread count.
const RUNS: usize = 20;
const THREADS: [usize; 2] = [1, 8];

#[test]
fn generated_sessions_replay_equally_on_any_thread_count() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("journal");
    let ledger = Ledger::new(Arc::new(DiskJournal::open(&path).unwrap()));
    let recorded = generated();
    for recording in &recorded {
        write(&ledger, recording, recording.facts.len());
    }
    block_on(ledger.journal().close()).unwrap();

    let reports = replayed_alike(&path, SESSIONS);
    for recording in &recorded {
        let report = &reports[&recording.start.id];
        assert_eq!(report.diverged, None, "{recording:?}");
        let told = report.observations + report.decisions;
        assert_eq!(told, recording.facts.len() as u64);
    }
    let decisions: u64 = reports.values().map(|it| it.decisions).sum();
    assert!(decisions > 2_000, "only {decisions} decisions");
}

#[test]
fn every_run_reports_divergence_with_causes_and_prior_state() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("journal");
    let ledger = Ledger::new(Arc::new(DiskJournal::open(&path).unwrap()));
    let mut missing = BTreeMap::new();
    for recording in generated().iter().take(40) {
        // The record ends before its last decision. The replay must still derive that decision.
        let cut = recording.facts.iter().rposition(|it| decided(it).is_some());
        let Some(cut) = cut else { continue };
        write(&ledger, recording, cut);
        missing.insert(recording.start.id, recording.facts[cut].clone());
    }
    block_on(ledger.journal().close()).unwrap();

    let reports = replayed_alike(&path, missing.len());
    assert!(missing.len() > 30, "only {} sessions", missing.len());
    for (session, fact) in missing {
        let diverged = reports[&session].diverged.as_ref().unwrap();
        let derived = diverged.derived.as_ref().unwrap();
        assert_eq!((diverged.seq, &diverged.recorded), (fact.seq, &None));
        assert_eq!(
            (derived.kind, derived.cause),
            (fact.event.kind(), fact.cause)
        );
        assert_eq!(derived.body, fact.event.body().unwrap());
        assert_eq!(diverged.before.head.next(), fact.seq);
        assert_eq!(diverged.causes.last().map(|it| it.seq), fact.cause);
    }
}

/// The model's script in sessions of an engine: two calls that run, and one that needs approval.
const MODEL: &str = r#"
{"on": {"text": "go"}, "once": false, "send": [{"call": [{"id": "a", "name": "look"}, {"id": "b", "name": "look", "args": {"n": 2}}, {"id": "c", "name": "pay", "args": {"cents": 4200}}]}]}
{"on": "otherwise", "once": false, "send": [{"say": "Understood."}]}
"#;

#[test]
fn replay_does_not_run_tools() {
    const LIVES: usize = 6;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("journal");
    let runs = Arc::new(AtomicUsize::new(0));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(lives(&path, LIVES, &runs));
    assert_eq!(runs.load(Ordering::SeqCst), 3 * LIVES);

    let reports = replayed_alike(&path, LIVES);
    for report in reports.values() {
        assert_eq!(report.diverged, None);
        assert!(report.decisions >= 12, "{report:?}");
    }
    assert_eq!(
        runs.load(Ordering::SeqCst),
        3 * LIVES,
        "a replay ran a tool"
    );
}

/// Serves sessions with a real engine, whose tools count their runs.
async fn lives(path: &Path, lives: usize, runs: &Arc<AtomicUsize>) {
    let counted = |name: &str| {
        let runs = runs.clone();
        T::simple(name, "Counts its runs", move |_| {
            runs.fetch_add(1, Ordering::SeqCst);
            async { Ok(json!({"done": true})) }
        })
    };
    let agent = Agent::new()
        .model("m")
        .tools(counted("look") | T::confirm(counted("pay"), "Pay this?"))
        .connect_to(ScriptedModel::parse(MODEL).unwrap());
    let engine = Engine::builder(path).agent("till", agent);
    let engine = engine.open().await.unwrap();
    for _ in 0..lives {
        let live = engine.session("till").connect().await.unwrap();
        let mut updates = live.subscribe();
        live.send_text("go").await.unwrap();
        let asked = updates.wait_for(|event| event.kind() == "confirmation_requested");
        asked.await.unwrap();
        let request = live.pending().await.unwrap()[0].id;
        let (yes, ada) = (ToolConfirmation::confirmed(), Actor::embedder("ada"));
        engine.answer(request, yes, ada).await.unwrap();
        while !live.session().await.unwrap().calls.is_empty() {
            updates.next().await;
        }
    }
    engine.shutdown(Duration::from_secs(60)).await.unwrap();
}

/// Plausible and random histories alternately; the same ones in every run of the test.
fn generated() -> Vec<Recording> {
    let mut runner = TestRunner::deterministic();
    let (plausible, wild) = (recordings(), wild_recordings());
    let mut all = BTreeMap::new();
    while all.len() < SESSIONS {
        let recording = match all.len() % 2 {
            0 => plausible
                .new_tree(&mut runner)
                .expect("a history")
                .current(),
            _ => wild.new_tree(&mut runner).expect("a history").current(),
        };
        // A history without moves occurs more than once.
        all.insert(recording.start.id, recording);
    }
    all.into_values().collect()
}

/// Writes the first `facts` facts of a history, one batch at a time as an engine does.
fn write(ledger: &Ledger, recording: &Recording, facts: usize) {
    let (seal, id) = (Seal::default(), recording.start.id);
    let (mut session, mut tail, mut open) = (recording.start.clone(), Tail::EMPTY, Vec::new());
    for batch in recording.batches() {
        let batch: Vec<Fact> = batch
            .iter()
            .filter(|it| it.seq.0 <= facts as u64)
            .cloned()
            .collect();
        let Some(first) = batch.first() else { break };
        let objects = match observed(first) {
            Some(Observation::RunnerAttached(_) | Observation::CatalogChanged(_)) => {
                let tools = &recording.tools[&first.seq];
                seal.terms(id, tools.catalog(), tools.policies()).unwrap().0
            }
            _ => Objects::default(),
        };
        session = batch.iter().fold(session, evolve);
        let append = ledger.append(
            tail,
            &seal,
            &session,
            &batch,
            &open,
            objects,
            Durability::Buffered,
        );
        tail = block_on(append).unwrap();
        open = open_work(&session);
    }
}

/// Replays every session of a journal twenty times on each scheduler; all reports are equal.
///
/// The schedulers are one thread, eight threads, and tasks of both schedulers of tokio.
fn replayed_alike(path: &Path, sessions: usize) -> BTreeMap<SessionId, Report> {
    let ledger = Ledger::new(Arc::new(DiskJournal::open_existing(path).unwrap()));
    let found = block_on(ledger.journal().sessions(None, sessions + 1)).unwrap();
    let all: Vec<SessionId> = found.into_iter().map(|(id, _)| SessionId(id)).collect();
    assert_eq!(all.len(), sessions);
    let first = replayed(&ledger, &all, 1);
    for threads in THREADS {
        for _ in 0..RUNS {
            assert!(
                replayed(&ledger, &all, threads) == first,
                "{threads} threads"
            );
        }
    }
    let of_one = runtime::Builder::new_current_thread().build();
    let of_eight = runtime::Builder::new_multi_thread()
        .worker_threads(8)
        .build();
    for runtime in [of_one, of_eight] {
        let reports = runtime.unwrap().block_on(as_tasks(&ledger, &all));
        assert!(reports == first, "as tasks");
    }
    first
}

/// Replays each session as a task of its own.
async fn as_tasks(ledger: &Ledger, all: &[SessionId]) -> BTreeMap<SessionId, Report> {
    let mut tasks = JoinSet::new();
    for session in all.iter().copied() {
        let ledger = ledger.clone();
        tasks.spawn(async move { (session, replay::verify(&ledger, session).await.unwrap()) });
    }
    tasks.join_all().await.into_iter().collect()
}

fn replayed(ledger: &Ledger, all: &[SessionId], threads: usize) -> BTreeMap<SessionId, Report> {
    let (next, reports) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(session) = all.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let report = block_on(replay::verify(ledger, *session)).unwrap();
                    reports.lock().unwrap().insert(*session, report);
                }
            });
        }
    });
    reports.into_inner().unwrap()
}
