//! The end of an engine in good order.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::oneshot;

use crate::engine::error::Error;
use crate::engine::inputs::inbox::Input;
use crate::engine::serving::engine::Engine;
use crate::tool::PolicyTool;

/// How long a shutdown without any grace waits for the callbacks: one that takes a moment hears
/// everything.
const LAST_NEWS: Duration = Duration::from_secs(1);

impl Engine {
    /// Ends every task in good order and closes the journal, so that the next process can open it.
    ///
    /// What runs gets some time to end: within `grace`, nothing new starts, tools that end are told
    /// to their models, and a session in which nothing runs is let go at once. After it, what still
    /// runs is cut off, and the next engine does what its tool's rule for that says. Everything
    /// else stays open for it, also a call that waited for a
    /// [place](crate::engine::EngineBuilder::running_max): it has not run, and will. With
    /// [`Duration::ZERO`] nothing that runs is waited for.
    ///
    /// The engine's closures, such as
    /// [`on_confirmation_requested`](crate::engine::EngineBuilder::on_confirmation_requested), hear
    /// what is on record by then, as long as the grace lasts, and for a second at least. Answers at
    /// this time are refused or wait, so a closure had better not wait for one.
    ///
    /// Operators are sent away first: what they want then, they ask the next process, or do by
    /// themselves.
    ///
    /// A rolling deploy needs no more: the old process gets its signal and shuts down, the new one
    /// is started meanwhile and [waits](crate::engine::EngineBuilder::wait) for the journal,
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
    /// Where the journal cannot be written.
    pub async fn shutdown(&self, grace: Duration) -> Result<(), Error> {
        // What an operator answers from here on could begin a task that nobody ends.
        self.dismiss_operators().await;
        // Before any session is told: a place that gets free must not go to a session that has not
        // been told yet.
        self.inner.slots.shut();
        let until = self.inner.clock.now().after(grace);
        // Neither is a session woken while its end is awaited: one that is being woken now is there
        // to be told.
        let ringing = self.ringing().take();
        if let Some(ringing) = ringing {
            ringing.abort();
            let _ = ringing.await;
        }
        let mut ending = Vec::new();
        for task in self.inner.registry.all() {
            let (reply, done) = oneshot::channel();
            let drain = Input::Drain { until, reply };
            ending.extend(task.inbox.send(drain).is_ok().then_some(done));
        }
        let mut ended = pin!(async {
            for done in ending {
                // A task that failed has said so to its callers.
                let _ = done.await;
            }
        });
        tokio::select! {
            biased;
            () = &mut ended => {}
            () = self.inner.clock.reached(until) => {
                // A session that waits for room on the disk has waited long enough.
                self.inner.room.end();
                ended.await;
            }
        }
        let at_least = self.inner.clock.now().after(LAST_NEWS);
        let heard = async {
            // Whoever writes to a session without a task publishes what was written first, and is
            // the last to do so.
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
        self.follow_no_more();
        self.shut_down_tools().await;
        Ok(self.inner.ledger.journal().close().await?)
    }

    /// Has every tool let go of what it holds; those that hold it in common wait together.
    async fn shut_down_tools(&self) {
        let agents: Vec<_> = self.agents().values().cloned().collect();
        let tools = agents.iter().flat_map(|it| {
            let dispatcher = &it.dispatcher;
            dispatcher.names().filter_map(|name| dispatcher.get(name))
        });
        join_all(tools.map(PolicyTool::shut_down)).await;
    }
}
