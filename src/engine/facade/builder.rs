//! Opening an engine.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use recount_journal::seal::KeyStore;
use recount_journal::{DiskJournal, Journal, MemoryJournal};

use crate::engine::agents::agent::Agent;
use crate::engine::clock::{Clock, SystemClock};
use crate::engine::effects::slots::Slots;
use crate::engine::error::Error;
use crate::engine::notify::notices::Notices;
use crate::engine::serving::engine::Engine;
use crate::ledger::{Ledger, UnknownKinds};

/// Collects what an engine is made of; [`open`](EngineBuilder::open) checks it all at once.
pub struct EngineBuilder {
    place: Place,
    agents: Vec<(String, Agent)>,
    clock: Arc<dyn Clock>,
    keys: Option<Arc<dyn KeyStore>>,
    unknown: UnknownKinds,
    wait: Duration,
    /// True if a directory that other users can write to is believed.
    trusts_others: bool,
    slots: Slots,
    pub(in crate::engine) notices: Notices,
    control: Control,
}

/// Where operators find the engine.
enum Control {
    /// In the directory of the journal that the engine opens; nowhere where it opens none.
    BesideJournal,
    At(PathBuf),
    Nowhere,
}

/// Where the journal is.
enum Place {
    Disk(PathBuf),
    Given(Arc<dyn Journal>),
}

impl Engine {
    /// An engine whose journal is in the directory `path`, which is made if there is none.
    pub fn builder(path: impl Into<PathBuf>) -> EngineBuilder {
        EngineBuilder::on_disk(path.into())
    }

    /// An engine that forgets everything with its last owner; for tests.
    pub fn in_memory() -> EngineBuilder {
        EngineBuilder::in_memory()
    }
}

impl EngineBuilder {
    pub(in crate::engine) fn on_disk(path: PathBuf) -> EngineBuilder {
        EngineBuilder::new(Place::Disk(path))
    }

    pub(in crate::engine) fn in_memory() -> EngineBuilder {
        EngineBuilder::new(Place::Given(Arc::new(MemoryJournal::new())))
    }

    fn new(place: Place) -> EngineBuilder {
        EngineBuilder {
            place,
            agents: Vec::new(),
            clock: SystemClock::shared(),
            keys: None,
            unknown: UnknownKinds::default(),
            wait: Duration::ZERO,
            trusts_others: false,
            slots: Slots::default(),
            notices: Notices::default(),
            control: Control::BesideJournal,
        }
    }

    /// Registers an agent under the name by which sessions know it.
    pub fn agent(mut self, name: impl Into<String>, agent: Agent) -> EngineBuilder {
        self.agents.push((name.into(), agent));
        self
    }

    /// Takes another clock; for tests.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> EngineBuilder {
        self.clock = clock;
        self
    }

    /// Takes the key store: sessions of [`sealed`](Agent::sealed) agents are written and read with
    /// it, secret arguments are sealed with it, and resumption handles are kept in it.
    ///
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::path::Path;
    /// use std::sync::Arc;
    /// use recount::journal::seal::{FileKeyStore, MasterKey};
    /// use recount::prelude::*;
    ///
    /// let master = MasterKey::from_file(Path::new("/run/secrets/recount-master-key"))?;
    /// let keys = FileKeyStore::create("./recount-keys", master)?;
    /// let support = Agent::new().model("gemini-3.8-live").sealed();
    /// let engine = Engine::builder("./journal").keys(Arc::new(keys)).agent("support", support).open().await?;
    /// # engine.shutdown(std::time::Duration::ZERO).await?;
    /// # Ok(()) }
    /// ```
    pub fn keys(mut self, keys: Arc<dyn KeyStore>) -> EngineBuilder {
        self.keys = Some(keys);
        self
    }

    /// What becomes of records whose kinds a newer program brought, as after a deploy that was
    /// taken back. Without this, a session with one is not served.
    ///
    /// ```
    /// use recount::engine::Engine;
    /// use recount::ledger::UnknownKinds;
    ///
    /// let builder = Engine::builder("./journal").unknown_kinds(UnknownKinds::Skip);
    /// ```
    pub fn unknown_kinds(mut self, unknown: UnknownKinds) -> EngineBuilder {
        self.unknown = unknown;
        self
    }

    /// How long to wait for the process that serves the journal now to let go of it; without this,
    /// opening fails at once.
    ///
    /// ```
    /// # async fn example() -> Result<(), recount::engine::Error> {
    /// use std::time::Duration;
    /// use recount::prelude::*;
    /// // The old process got its signal to end: `engine.shutdown(Duration::from_secs(20))`.
    /// let support = Agent::new().model("gemini-3.8-live");
    /// let engine = Engine::builder("./journal").wait(Duration::from_secs(30)).agent("support", support).open().await?;
    /// # Ok(()) }
    /// ```
    pub fn wait(mut self, wait: Duration) -> EngineBuilder {
        self.wait = wait;
        self
    }

    /// Opens a journal whose directory users other than its owner can write to, or that another
    /// user owns. Without this, such a journal is refused, because what is in it may be of others;
    /// see [`guard`](recount_journal::guard()).
    ///
    /// Commands such as `recount approve` do not believe the address of a service in such a
    /// directory.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path();
    /// # #[cfg(unix)]
    /// # std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o1777)).unwrap();
    /// # #[cfg(unix)]
    /// assert!(recount::Engine::builder(path).open().await.is_err());
    /// let engine = recount::Engine::builder(path).insecure_directory().open().await?;
    /// # engine.shutdown(std::time::Duration::ZERO).await
    /// # }).unwrap();
    /// ```
    pub fn insecure_directory(mut self) -> EngineBuilder {
        self.trusts_others = true;
        self
    }

    /// How many tools of all sessions run at the same time; without it, any number.
    ///
    /// What is started beyond that waits, and sessions take turns, so one with many calls keeps no
    /// other from its first. The wait counts towards the time limit of the run.
    /// [`Agent::running_max`] limits each session by itself.
    ///
    /// ```
    /// # async fn example() -> Result<(), recount::engine::Error> {
    /// let engine = recount::Engine::in_memory().running_max(64).open().await?;
    /// # engine.shutdown(std::time::Duration::ZERO).await }
    /// ```
    pub fn running_max(mut self, tools: usize) -> EngineBuilder {
        self.slots = Slots::limited(tools.max(1));
        self
    }

    /// Hears no operators: `recount pending`, `approve`, `deny`, `respond-call` and `log` say that
    /// the journal is in use.
    ///
    /// An engine that opens a journal on disk hears them otherwise, on the loopback interface of
    /// this machine, and lets in whoever can read the file `CONTROL` beside the journal: its own
    /// user. Where the system does not let it listen, it says so in the log of the machinery, and
    /// goes on without. The runtime needs I/O for it (`enable_all`).
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path();
    /// let engine = recount::Engine::builder(path).open().await?;
    /// assert!(path.join("CONTROL").exists());
    /// engine.shutdown(std::time::Duration::ZERO).await?;
    /// assert!(!path.join("CONTROL").exists());
    ///
    /// let engine = recount::Engine::builder(path).without_control().open().await?;
    /// assert!(!path.join("CONTROL").exists());
    /// # engine.shutdown(std::time::Duration::ZERO).await
    /// # }).unwrap();
    /// ```
    pub fn without_control(mut self) -> EngineBuilder {
        self.control = Control::Nowhere;
        self
    }

    /// Hears operators in `directory`, which is that of a [`journal`](EngineBuilder::journal) that
    /// was open already.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path();
    /// use std::sync::Arc;
    /// use recount::journal::DiskJournal;
    /// let journal = Arc::new(DiskJournal::open(path)?);
    /// let engine = recount::Engine::builder(path).journal(journal).control(path).open().await?;
    /// assert!(path.join("CONTROL").exists());
    /// # engine.shutdown(std::time::Duration::ZERO).await
    /// # }).unwrap();
    /// ```
    pub fn control(mut self, directory: impl Into<PathBuf>) -> EngineBuilder {
        self.control = Control::At(directory.into());
        self
    }

    /// Takes a journal that is open already, such as one that a test can make fail.
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> EngineBuilder {
        self.place = Place::Given(journal);
        self
    }

    /// Opens the journal, registers the agents, and performs what is owed from before.
    ///
    /// # Errors
    /// [`Error::Configuration`] with every mistake of every agent; whatever keeps the journal from
    /// being opened.
    pub async fn open(self) -> Result<Engine, Error> {
        let beside = match &self.place {
            Place::Disk(path) => Some(path.clone()),
            Place::Given(_) => None,
        };
        let control = match self.control {
            Control::BesideJournal => beside.clone(),
            Control::At(path) => Some(path),
            Control::Nowhere => None,
        };
        let journal: Arc<dyn Journal> = match self.place {
            Place::Disk(path) => {
                // Opening may read a long log, which is no work for the threads that serve
                // sessions.
                let mut options = DiskJournal::options(path).wait(self.wait);
                if self.trusts_others {
                    options = options.insecure_directory();
                }
                let opening = tokio::task::spawn_blocking(move || options.open());
                Arc::new(opening.await.map_err(|_| Error::ShutDown)??)
            }
            Place::Given(journal) => journal,
        };
        // What a killed service left is wrong from now on, also where this one hears nobody, and
        // what is owed from before may take a while.
        for directory in beside.iter().chain(&control) {
            if let Err(error) = crate::control::withdraw(directory) {
                let directory = directory.display();
                tracing::warn!(%error, %directory, "the address of an earlier service could not be removed");
            }
        }
        let ledger = Ledger::new(journal).unknown_kinds(self.unknown);
        let ledger = match self.keys {
            Some(keys) => ledger.with_keys(keys),
            None => ledger,
        };
        let engine = Engine::new(ledger, self.clock, self.slots, self.notices);
        let mut mistakes = Vec::new();
        let names: Vec<String> = self.agents.iter().map(|(name, _)| name.clone()).collect();
        for (name, agent) in self.agents {
            match engine.add(name, agent) {
                Ok(()) => {}
                Err(Error::Configuration { mistakes: found }) => mistakes.extend(found),
                Err(error) => return Err(error),
            }
        }
        if !mistakes.is_empty() {
            engine.shutdown(Duration::ZERO).await?;
            return Err(Error::Configuration { mistakes });
        }
        engine.perform_what_is_owed().await?;
        for name in &names {
            engine.follow_paused(name);
        }
        if let Some(directory) = control {
            engine.hear_operators(&directory);
        }
        Ok(engine)
    }
}
