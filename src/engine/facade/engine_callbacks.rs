//! Closures that hear of requests and calls in every session.

use crate::engine::facade::builder::EngineBuilder;
use crate::engine::notify::notices::{ConfirmationDecided, SettledApart};
use crate::ledger::PendingConfirmation;
use crate::tool::Ticket;

impl EngineBuilder {
    /// Hears of every request that waits for an answer, once it is on record. One that was answered
    /// before the closure comes to it is left out.
    ///
    /// The engine's closures are called one after another, by a task of their own: one that takes
    /// long delays the others and nothing else, and one that panics is called again the next time.
    /// A [shutdown](crate::engine::Engine::shutdown) lets them hear first what is on record by
    /// then. What a process that ended otherwise had not heard is in
    /// [`Engine::pending`](crate::engine::Engine::pending) of the next.
    ///
    /// ```
    /// # async fn example() -> Result<(), recount::engine::Error> {
    /// use recount::prelude::*;
    /// let engine = Engine::builder("./journal")
    ///     .on_confirmation_requested(|waiting| println!("{} asks: {:?}", waiting.tool, waiting.hint))
    ///     .on_confirmation_decided(|decided| println!("{}: {:?}", decided.ticket.tool, decided.verdict))
    ///     .on_paused(|ticket| println!("{} waits for its result", ticket.tool))
    ///     .on_resumed(|ticket| println!("{} has its result", ticket.tool))
    ///     .on_settled(|settled| println!("{} ended: {:?}", settled.ticket.tool, settled.outcome))
    ///     .open()
    ///     .await?;
    /// # engine.shutdown(std::time::Duration::ZERO).await }
    /// ```
    pub fn on_confirmation_requested(
        mut self,
        hear: impl Fn(&PendingConfirmation) + Send + Sync + 'static,
    ) -> EngineBuilder {
        self.notices.requested = Some(Box::new(hear));
        self
    }

    /// Hears what became of every request: who said what, that nobody did, or that another request
    /// has taken its place. What [asks](Self::on_confirmation_requested) in its place is heard
    /// right after it.
    pub fn on_confirmation_decided(
        mut self,
        hear: impl Fn(&ConfirmationDecided) + Send + Sync + 'static,
    ) -> EngineBuilder {
        self.notices.decided = Some(Box::new(hear));
        self
    }

    /// Hears of every call that begins to wait for its result from outside.
    pub fn on_paused(mut self, hear: impl Fn(&Ticket) + Send + Sync + 'static) -> EngineBuilder {
        self.notices.paused = Some(Box::new(hear));
        self
    }

    /// Hears of every such call whose result has come.
    pub fn on_resumed(mut self, hear: impl Fn(&Ticket) + Send + Sync + 'static) -> EngineBuilder {
        self.notices.resumed = Some(Box::new(hear));
        self
    }

    /// Hears of every call that ended while its session had no connection; what the model hears of
    /// it, the agent [chooses](crate::engine::Agent::on_settled). So it does of every call that a
    /// program made itself and does not wait for any more.
    pub fn on_settled(
        mut self,
        hear: impl Fn(&SettledApart) + Send + Sync + 'static,
    ) -> EngineBuilder {
        self.notices.settled = Some(Box::new(hear));
        self
    }
}
