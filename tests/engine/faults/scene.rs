//! The simulator with one script, an engine with a journal in a store, and clocks that stand still.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use recount::engine::{EngineBuilder, Error, Listener, Reconnects, Updates};
use recount::journal::Journal;
use recount::ledger::{Ledger, Recorded};
use recount::live::Endpoint;
use recount::prelude::*;
use recount::session::{Seq, Session, evolve};
use recount::simulator::{Running, Script, Simulator};
use recount::testing::ManualClock;

use crate::faults::ending::told;
use crate::faults::steps::Step;
use crate::faults::till::{Till, first_session};
use crate::journal::assert_lawful;
use crate::nothing_left::{assert_nothing_is_left, settle};
use crate::surviving::SurvivingJournal;
use crate::{schema, store};

/// The time in which the service must answer a setup.
pub(crate) const SETUP_TIMEOUT: Duration = Duration::from_secs(15);

pub(crate) struct Scene {
    pub(crate) simulator: Running,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) till: Till,
    pub(crate) heard: Option<Listener>,
    updates: Updates,
    /// The published events in order. `waited` holds, for each kind, the position from which to
    /// wait.
    seen: Vec<Arc<Recorded>>,
    waited: BTreeMap<&'static str, usize>,
}

/// The directory of the scripts.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/scripts/faults")
}

/// Plays a script with these steps, checks the laws, and returns the result as text.
pub(crate) async fn play(name: &str, steps: &[Step]) -> String {
    let _still = stand_still();
    let script = Script::read(folder().join(format!("{name}.jsonl"))).unwrap();
    let simulator = Simulator::start(script)
        .listen("127.0.0.1:0")
        .await
        .unwrap();
    let (url, till) = (simulator.url(), Till::default());
    let (clock, journal) = (ManualClock::new(), SceneJournal::new());
    let engine = journal
        .engine()
        .clock(clock.clone())
        .agent("support", agent(name, &till, &url));
    let engine = engine.open().await.unwrap();
    till.look_at(engine.ledger());
    let mut scene = Scene {
        updates: engine.subscribe(),
        simulator,
        clock,
        till,
        heard: None,
        seen: Vec::new(),
        waited: BTreeMap::new(),
    };

    let ended = match scene.connect(&engine, steps).await {
        Ok(live) => Ok(scene.act(live, steps).await),
        Err(error) => Err(error.to_string()),
    };
    engine.shutdown(Duration::ZERO).await.unwrap();
    drop(engine);
    while let Some(recorded) = scene.updates.next().await {
        scene.seen.push(recorded);
    }
    scene.till.look_away();
    let live = ended.as_ref().ok();
    let session = on_record(journal.closed(), live).await;
    assert_eq!(
        scene.till.unrecorded(),
        [""; 0],
        "law 1: these ran unrecorded"
    );
    let unmet = scene.simulator.unmet();
    assert!(unmet.is_empty(), "{unmet:?}");
    let transcript = scene.simulator.transcript();
    let runs = scene.till.runs();
    let told = told(&scene.seen, &transcript, ended.err(), &session, &runs);
    scene.end().await;
    told.replace(&url, "the service")
}

impl Scene {
    /// Connects. If the first step says that the service does not answer, the setup timeout passes.
    async fn connect(&self, engine: &Engine, steps: &[Step]) -> Result<LiveHandle, Error> {
        let connecting = engine.session("support").connect();
        match steps {
            [Step::SetupUnanswered(first)] => {
                let unanswered = self.setup_unanswered(*first);
                tokio::join!(connecting, unanswered).0
            }
            _ => connecting.await,
        }
    }

    /// Performs the steps, disconnects, and returns the session.
    async fn act(&mut self, live: LiveHandle, steps: &[Step]) -> Session {
        self.heard = Some(live.listen());
        self.record("connected").await;
        for step in steps {
            self.step(&live, *step).await;
        }
        live.disconnect().await.unwrap();
        self.heard = None;
        live.session().await.unwrap()
    }

    /// Waits for the next event of this kind.
    pub(crate) async fn record(&mut self, kind: &'static str) {
        let from = self.waited.get(kind).copied().unwrap_or_default();
        let is_wanted = |recorded: &Arc<Recorded>| recorded.fact.event.kind() == kind;
        let at = loop {
            let found = self.seen.iter().skip(from).position(is_wanted);
            if let Some(found) = found {
                break from + found;
            }
            let next = self.updates.next().await;
            self.seen.push(next.expect("the engine serves the session"));
        };
        self.waited.insert(kind, at + 1);
    }

    /// Asserts that no socket and no task is left.
    async fn end(self) {
        self.simulator.until_all_closed().await;
        self.simulator.shutdown().await;
        settle().await;
        assert_nothing_is_left();
    }
}

/// Stops the runtime's clock until the returned value is dropped. A blocked thread keeps the clock
/// from advancing while all tasks wait for a socket.
fn stand_still() -> Sender<()> {
    let (still, busy) = channel();
    tokio::task::spawn_blocking(move || while busy.recv().is_ok() {});
    still
}

fn agent(name: &str, till: &Till, url: &str) -> Agent {
    let agent = Agent::new()
        .model("gemini-live-2.5-flash")
        .tools(till.tools())
        .connect_to(Endpoint::from(url))
        .reconnects(Reconnects::default().attempts_max(5))
        .setup_timeout(SETUP_TIMEOUT);
    if name == "unknown_field_in_the_setup" {
        agent.tools(T::server_side("crystal_ball", json!({"crystalBall": {}})))
    } else {
        agent
    }
}

/// The journal of a scene: a directory, or a schema whose appends block. An append of either takes
/// no time that another task could see, so a scene has one course.
enum SceneJournal {
    Directory(tempfile::TempDir),
    Schema(Arc<SurvivingJournal>),
}

impl SceneJournal {
    fn new() -> SceneJournal {
        if schema::is_chosen() {
            return SceneJournal::Schema(SurvivingJournal::new());
        }
        SceneJournal::Directory(tempfile::tempdir().unwrap())
    }

    fn engine(&self) -> EngineBuilder {
        match self {
            SceneJournal::Directory(directory) => Engine::builder(directory.path()),
            SceneJournal::Schema(journal) => Engine::in_memory().journal(journal.clone()),
        }
    }

    /// The journal, once its engine has closed it and it was found to be sound.
    fn closed(&self) -> Arc<dyn Journal> {
        match self {
            SceneJournal::Directory(directory) => store::sound(directory.path()),
            SceneJournal::Schema(journal) => {
                store::assert_sound(&**journal);
                journal.clone()
            }
        }
    }
}

/// Loads the session from the journal after all checks: the journal is sound, the laws, and that its fold equals the live
/// session.
async fn on_record(journal: Arc<dyn Journal>, live: Option<&Session>) -> Session {
    let ledger = Ledger::new(journal.clone());
    assert_lawful(&ledger, first_session()).await;
    let loaded = ledger.load(first_session()).await.unwrap();
    if let Some(live) = live {
        let facts = ledger.facts(first_session(), Seq(1), 100_000).await;
        // The catalogs and policies are the same objects for every reader.
        let start = Session::with_library(first_session(), live.library().clone());
        let folded = facts.unwrap().iter().fold(start, evolve);
        assert_eq!(live, &folded, "law 6: the fold is the live session");
    }
    journal.close().await.unwrap();
    loaded.session
}
