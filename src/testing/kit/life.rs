//! The life of a process, in a test: from opening an engine to its shutdown, or to a death without
//! a word.

use std::sync::Arc;

use recount_journal::Journal;
use tokio::runtime::{Builder, Runtime};

use crate::engine::{Agent, Clock, Engine, EngineBuilder};

/// An engine on a runtime of its own.
///
/// Everything runs on the caller's thread, and only while it is inside [`run`](Life::run) or
/// [`settle`](Life::settle), so a story is the same in every run.
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
    /// Where it cannot be opened.
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

    /// Opens the engine that a builder describes.
    ///
    /// # Panics
    /// Where it cannot be opened.
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

    /// Goes on until `work` is done.
    pub fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Goes on until nothing happens by itself any more.
    pub fn settle(&self) {
        self.runtime.block_on(async {
            // Every chain of what follows by itself is far shorter than this many turns of the
            // scheduler.
            for _ in 0..500 {
                tokio::task::yield_now().await;
            }
        });
    }

    /// Dies: whatever was under way is gone, and nothing more is written.
    pub fn crash(self) {
        self.runtime.shutdown_background();
    }

    /// Ends in good order.
    ///
    /// # Panics
    /// Where the shutdown fails.
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
