//! The builder of an engine.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use recount_journal::seal::KeyStore;
use recount_journal::{DiskJournal, Journal, MemoryJournal};

use crate::control::{Look, Reloaded};
use crate::engine::agents::agent::Agent;
use crate::engine::clock::{Clock, SystemClock};
use crate::engine::effects::slots::Slots;
use crate::engine::error::Error;
use crate::engine::notify::notices::Notices;
use crate::engine::serving::engine::{Engine, OnLook, Reload};
use crate::ledger::{Ledger, UnknownKinds};

/// The builder of an engine; [`open`](EngineBuilder::open) checks all settings at once.
pub struct EngineBuilder {
    place: Place,
    agents: Vec<(String, Agent)>,
    clock: Arc<dyn Clock>,
    keys: Option<Arc<dyn KeyStore>>,
    unknown: UnknownKinds,
    wait: Duration,
    /// True if a directory that other users can write to is trusted.
    trusts_others: bool,
    slots: Slots,
    pub(in crate::engine) notices: Notices,
    control: Control,
    reload: Option<Reload>,
    on_look: Option<OnLook>,
}

/// The place of the control file.
enum Control {
    /// In the directory of the journal that the engine opens. Without one, there is no control
    /// file.
    BesideJournal,
    At(PathBuf),
    Nowhere,
}

/// The source of the journal.
enum Place {
    Disk(PathBuf),
    Given(Arc<dyn Journal>),
}

impl Engine {
    /// Creates a builder for a journal in the directory `path`, which is created if it does not
    /// exist.
    pub fn builder(path: impl Into<PathBuf>) -> EngineBuilder {
        EngineBuilder::on_disk(path.into())
    }

    /// Creates a builder for a journal in memory, lost when the engine is dropped; for tests.
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
            reload: None,
            on_look: None,
        }
    }

    /// Registers an agent under the name that sessions use.
    pub fn agent(mut self, name: impl Into<String>, agent: Agent) -> EngineBuilder {
        self.agents.push((name.into(), agent));
        self
    }

    /// Sets the clock; for tests.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> EngineBuilder {
        self.clock = clock;
        self
    }

    /// Sets the key store.
    ///
    /// Sessions of [`sealed`](Agent::sealed) agents are written and read with it, secret arguments
    /// are sealed with it, and resumption handles are stored in it.
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
    /// let engine = Engine::builder("./journal")
    ///     .keys(Arc::new(keys))
    ///     .agent("support", support)
    ///     .open()
    ///     .await?;
    /// # engine.shutdown(std::time::Duration::ZERO).await?;
    /// # Ok(()) }
    /// ```
    pub fn keys(mut self, keys: Arc<dyn KeyStore>) -> EngineBuilder {
        self.keys = Some(keys);
        self
    }

    /// Sets the treatment of records of unknown kinds, written by a newer program before a
    /// rollback. By default, a session with such a record is not served.
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

    /// Sets the time to wait for another process to release the journal. By default, opening fails
    /// at once.
    ///
    /// ```
    /// # async fn example() -> Result<(), recount::engine::Error> {
    /// use std::time::Duration;
    /// use recount::prelude::*;
    /// // The old process got its signal to end: `engine.shutdown(Duration::from_secs(20))`.
    /// let support = Agent::new().model("gemini-3.8-live");
    /// let engine = Engine::builder("./journal")
    ///     .wait(Duration::from_secs(30))
    ///     .agent("support", support)
    ///     .open()
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn wait(mut self, wait: Duration) -> EngineBuilder {
        self.wait = wait;
        self
    }

    /// Opens a journal whose directory belongs to another user or is writable for others.
    ///
    /// By default such a journal is refused, because other users may have changed its content; see
    /// [`guard`](recount_journal::guard()).
    ///
    /// Commands such as `recount approve` do not trust the address of a service in such a
    /// directory.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path();
    /// # #[cfg(unix)]
    /// # std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o1777))
    /// #     .unwrap();
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

    /// Sets the maximum number of tools that run at the same time in all sessions. The default is
    /// unlimited.
    ///
    /// Further starts wait. Sessions take turns, so a session with many calls does not delay the
    /// first call of another. The wait counts towards the time limit of the run.
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

    /// Starts no control server: `recount pending`, `approve`, `deny`, `respond-call` and `log`
    /// report that the journal is in use.
    ///
    /// By default, an engine that opens a journal on disk starts one on the loopback interface. It
    /// accepts clients that can read the file `CONTROL` beside the journal, that is, its own user.
    /// If the system does not let it listen, the engine logs that and runs without. The runtime
    /// needs I/O for it (`enable_all`).
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
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

    /// Starts the control server in `directory`, the directory of an opened
    /// [`journal`](EngineBuilder::journal).
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
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

    /// Sets the handler of the control request `reload`, which reads the configuration of the
    /// program anew, for example with [`Engine::change_policies`].
    ///
    /// ```
    /// use recount::control::Reloaded;
    /// use recount::engine::Engine;
    ///
    /// let builder = Engine::builder("./journal").on_reload(|_engine| async {
    ///     Reloaded { reloaded: vec!["prices".to_owned()], mistakes: Vec::new() }
    /// });
    /// # let _ = builder;
    /// ```
    pub fn on_reload<F, Fut>(mut self, reload: F) -> EngineBuilder
    where
        F: Fn(Engine) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reloaded> + Send + 'static,
    {
        self.reload = Some(Box::new(move |engine| Box::pin(reload(engine))));
        self
    }

    /// Sets a function that is called before the answer to a control request that reads sessions,
    /// for example to put the read on record. Its error refuses the request.
    ///
    /// ```
    /// use recount::engine::Engine;
    ///
    /// let builder = Engine::builder("./journal").on_look(|look| async move {
    ///     println!("{} looks at {}", look.by.name, look.request);
    ///     Ok(())
    /// });
    /// # let _ = builder;
    /// ```
    pub fn on_look<F, Fut>(mut self, look: F) -> EngineBuilder
    where
        F: Fn(Look) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), String>> + Send + 'static,
    {
        self.on_look = Some(Box::new(move |it| Box::pin(look(it))));
        self
    }

    /// Sets an open journal, such as one that a test can make fail.
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> EngineBuilder {
        self.place = Place::Given(journal);
        self
    }

    /// Opens the journal, registers the agents, and starts the effects that are still owed.
    ///
    /// # Errors
    /// [`Error::Configuration`] with every mistake of every agent; any error in opening the
    /// journal.
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
                // Opening may read a long log, so it must not block a thread that serves sessions.
                let mut options = DiskJournal::options(path).wait(self.wait);
                if self.trusts_others {
                    options = options.insecure_directory();
                }
                let opening = tokio::task::spawn_blocking(move || options.open());
                Arc::new(opening.await.map_err(|_| Error::ShutDown)??)
            }
            Place::Given(journal) => journal,
        };
        // Remove the address of a killed service first. It is wrong even if this engine has no
        // control server, and starting owed effects may take a while.
        for directory in beside.iter().chain(&control) {
            if let Err(error) = crate::control::withdraw(directory) {
                let directory = directory.display();
                tracing::warn!(
                    %error, %directory,
                    "the address of an earlier service could not be removed"
                );
            }
        }
        let ledger = Ledger::new(journal).unknown_kinds(self.unknown);
        let ledger = match self.keys {
            Some(keys) => ledger.with_keys(keys),
            None => ledger,
        };
        let engine = Engine::new(ledger, self.clock, self.slots, self.notices);
        if let Some(reload) = self.reload {
            // The engine is new, so none is set.
            let _ = engine.inner.reload.set(reload);
        }
        if let Some(look) = self.on_look {
            let _ = engine.inner.on_look.set(look);
        }
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
        if let Err(error) = engine.check_key_store().await {
            engine.shutdown(Duration::ZERO).await?;
            return Err(error);
        }
        engine.start_owed_effects().await?;
        for name in &names {
            engine.follow_paused(name);
        }
        if let Some(directory) = control {
            engine.start_control(&directory);
        }
        Ok(engine)
    }
}
