//! Closures for requests and calls of every session.

use crate::engine::facade::builder::EngineBuilder;
use crate::engine::notify::notices::{ConfirmationDecided, SettledApart};
use crate::ledger::PendingConfirmation;
use crate::tool::Ticket;

impl EngineBuilder {
    /// Sets the closure for each recorded request that waits for an answer. A request that is
    /// answered before the closure runs is left out.
    ///
    /// The engine's closures are called one after another, by one task. A slow closure delays only
    /// the others. A closure that panics is called again the next time. A
    /// [shutdown](crate::engine::Engine::shutdown) waits until they have handled what is recorded
    /// by then. If a process ended otherwise, the open requests are in
    /// [`Engine::pending`](crate::engine::Engine::pending) of the next one.
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

    /// Sets the closure for the decision on each request: an answer, an expiry, a withdrawal, or a
    /// replacement by another request. The [closure](Self::on_confirmation_requested) for that
    /// other request runs right after it.
    pub fn on_confirmation_decided(
        mut self,
        hear: impl Fn(&ConfirmationDecided) + Send + Sync + 'static,
    ) -> EngineBuilder {
        self.notices.decided = Some(Box::new(hear));
        self
    }

    /// Sets the closure for each call that starts to wait for an outside result.
    pub fn on_paused(mut self, hear: impl Fn(&Ticket) + Send + Sync + 'static) -> EngineBuilder {
        self.notices.paused = Some(Box::new(hear));
        self
    }

    /// Sets the closure for each such call that got its result.
    pub fn on_resumed(mut self, hear: impl Fn(&Ticket) + Send + Sync + 'static) -> EngineBuilder {
        self.notices.resumed = Some(Box::new(hear));
        self
    }

    /// Sets the closure for each call that ended while its session had no connection.
    ///
    /// The agent [chooses](crate::engine::Agent::on_settled) how the outcome is delivered to its
    /// model. The closure also runs for each call of a program that no longer waits for it.
    pub fn on_settled(
        mut self,
        hear: impl Fn(&SettledApart) + Send + Sync + 'static,
    ) -> EngineBuilder {
        self.notices.settled = Some(Box::new(hear));
        self
    }
}
