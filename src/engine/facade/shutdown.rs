//! The graceful shutdown of an engine.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::oneshot;

use crate::engine::error::Error;
use crate::engine::inputs::inbox::Input;
use crate::engine::serving::engine::Engine;
use crate::tool::PolicyTool;

/// The minimum time for the callbacks in a shutdown without grace. Fast callbacks then still handle
/// every event.
const CALLBACKS_TIME_MIN: Duration = Duration::from_secs(1);

impl Engine {
    /// Ends every task gracefully and closes the journal, so that the next process can open it.
    ///
    /// Running work may finish within `grace`. During that time nothing new starts, results are
    /// still sent to their models, and a session in which nothing runs ends at once. After that,
    /// running tools are aborted, and the next engine applies their in-doubt rule. Everything else
    /// stays open for the next engine, also a call that waits for a
    /// [slot](crate::engine::EngineBuilder::running_max), which will then run. With
    /// [`Duration::ZERO`] running work gets no time.
    ///
    /// The engine's closures, such as
    /// [`on_confirmation_requested`](crate::engine::EngineBuilder::on_confirmation_requested),
    /// handle what is recorded by then. They have the time of the grace, and at least a second.
    /// Answers at this time are refused or wait, so a closure should not wait for one.
    ///
    /// The control server stops first. Operators then use the next process, or work on the journal
    /// directly.
    ///
    /// A rolling deploy works like this: the old process gets its signal and shuts down. The new
    /// one starts meanwhile and [waits](crate::engine::EngineBuilder::wait) for the journal,
    /// somewhat longer than the grace.
    ///
    /// ```
    /// # async fn example(engine: recount::engine::Engine) -> Result<(), recount::engine::Error> {
    /// use std::time::Duration;
    /// // On SIGTERM, with less than the time the supervisor gives.
    /// engine.shutdown(Duration::from_secs(20)).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn shutdown(&self, grace: Duration) -> Result<(), Error> {
        self.shutdown_after(grace, async {}).await
    }

    /// Shuts down like [`shutdown`](Engine::shutdown), and awaits `last` just before the journal is
    /// closed, when no session appends to it any more. A signature over everything on record has
    /// its place there.
    ///
    /// ```
    /// # async fn example(engine: recount::engine::Engine) -> Result<(), recount::engine::Error> {
    /// use std::time::Duration;
    /// let journal = engine.ledger().journal().clone();
    /// let last = async move {
    ///     let position = journal.position().await;
    ///     println!("everything is on record: {position:?}");
    /// };
    /// engine.shutdown_after(Duration::from_secs(20), last).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub async fn shutdown_after(
        &self,
        grace: Duration,
        last: impl Future<Output = ()>,
    ) -> Result<(), Error> {
        // An operator's answer from now on could spawn a task that would not be ended.
        self.stop_control().await;
        // Before any session drains: a freed slot must not go to a session that has not been told
        // yet.
        self.inner.slots.shut();
        let until = self.inner.clock.now().after(grace);
        // No session is woken while the tasks end. One that is being woken now is in the registry.
        let adopting = self.adopting().take();
        if let Some(adopting) = adopting {
            adopting.abort();
            let _ = adopting.await;
        }
        let alarm_task = self.alarm_task().take();
        if let Some(alarm_task) = alarm_task {
            alarm_task.abort();
            let _ = alarm_task.await;
        }
        let mut ending = Vec::new();
        for task in self.inner.registry.all() {
            let (reply, done) = oneshot::channel();
            let drain = Input::Drain { until, reply };
            ending.extend(task.inbox.send(drain).is_ok().then_some(done));
        }
        let mut ended = pin!(async {
            for done in ending {
                // A failed task has reported its failure to its callers.
                let _ = done.await;
            }
        });
        tokio::select! {
            biased;
            () = &mut ended => {}
            () = self.inner.clock.reached(until) => {
                // A session that waits for disk space has waited long enough.
                self.inner.room.end();
                ended.await;
            }
        }
        // Not before: another process may wait until this one has applied its pause.
        let observing = self.observing().take();
        if let Some(observing) = observing {
            observing.abort();
            let _ = observing.await;
        }
        let at_least = self.inner.clock.now().after(CALLBACKS_TIME_MIN);
        let heard = async {
            // A desk turn in progress publishes what it appends, and is the last to do so.
            let turn = self.inner.desk_turns.lock().await;
            self.inner.publisher.heard().await;
            turn
        };
        let _turn = tokio::select! {
            biased;
            turn = heard => Some(turn),
            () = self.inner.clock.reached(until.max(at_least)) => {
                tracing::warn!("the engine shuts down before its callbacks have heard everything");
                None
            }
        };
        self.stop_following();
        self.shut_down_tools().await;
        last.await;
        Ok(self.inner.ledger.journal().close().await?)
    }

    /// Shuts down every tool; all of them run concurrently.
    async fn shut_down_tools(&self) {
        let mut agents: Vec<_> = self.agents().values().cloned().collect();
        agents.extend(self.inner.changed_agents.all());
        let tools = agents.iter().flat_map(|it| {
            let dispatcher = &it.dispatcher;
            dispatcher.names().filter_map(|name| dispatcher.get(name))
        });
        join_all(tools.map(PolicyTool::shut_down)).await;
    }
}
