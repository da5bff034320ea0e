//! The life of a process in a test: an engine is opened, and then shut down or killed.

use std::sync::Arc;

use recount_journal::Journal;
use tokio::runtime::{Builder, Runtime};

use crate::engine::{Agent, Clock, Engine, EngineBuilder};

/// An engine on a runtime of its own.
///
/// All tasks run on the caller's thread, and only inside [`run`](Life::run) or
/// [`settle`](Life::settle). So a test has the same course in every run.
///
/// ```
/// use recount::prelude::*;
/// use recount::testing::{Life, ManualClock, SurvivingJournal};
///
/// let (journal, clock) = (SurvivingJournal::new(), ManualClock::new());
/// let life = Life::begin(&journal, &clock, [("support", Agent::new().model("m"))]);
/// assert!(life.run(life.engine().sessions()).unwrap().is_empty());
/// life.crash();
/// ```
pub struct Life {
    runtime: Runtime,
    engine: Engine,
}

impl Life {
    /// Opens an engine over a journal with some agents.
    ///
    /// # Panics
    /// If it cannot be opened.
    pub fn begin<'n, J: Journal, C: Clock>(
        journal: &Arc<J>,
        clock: &Arc<C>,
        agents: impl IntoIterator<Item = (&'n str, Agent)>,
    ) -> Life {
        let mut engine = Engine::in_memory()
            .journal(journal.clone())
            .clock(clock.clone());
        for (name, agent) in agents {
            engine = engine.agent(name, agent);
        }
        Life::of(engine)
    }

    /// Opens the engine of a builder.
    ///
    /// # Panics
    /// If it cannot be opened.
    #[expect(clippy::panic, reason = "a test that cannot begin must stop")]
    pub fn of(engine: EngineBuilder) -> Life {
        let runtime = match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => panic!("no runtime: {error}"),
        };
        let engine = match runtime.block_on(engine.open()) {
            Ok(engine) => engine,
            Err(error) => panic!("the engine does not open: {error}"),
        };
        Life { runtime, engine }
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Runs the engine until `work` is done.
    pub fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Runs the engine until all its tasks are idle.
    pub fn settle(&self) {
        self.runtime.block_on(async {
            // Each chain of tasks that wake each other is far shorter than this many yields.
            for _ in 0..500 {
                tokio::task::yield_now().await;
            }
        });
    }

    /// Kills the process: all tasks are dropped, and nothing more is written.
    pub fn crash(self) {
        self.runtime.shutdown_background();
    }

    /// Shuts the engine down in good order.
    ///
    /// # Panics
    /// If the shutdown fails.
    #[expect(clippy::panic, reason = "a test that cannot end must stop")]
    pub fn end(self) {
        if let Err(error) = self
            .runtime
            .block_on(self.engine.shutdown(std::time::Duration::ZERO))
        {
            panic!("the engine does not shut down: {error}");
        }
    }
}
