//! The cancellation of an open call, through the session's task or the desk.

use super::desk::Desk;
use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;
use crate::session::{Actor, Command, Seq, SessionId};

impl Engine {
    /// Cancels an open call, whatever it waits for, and returns the record of it.
    ///
    /// It may wait for an approver, its result, a slot, or a program that has its tool. A running
    /// tool is aborted.
    ///
    /// It undoes nothing: what a tool did before the abort stays done, and the call keeps
    /// `cancelled` as its outcome. If the outcome of a call in doubt is known,
    /// [answer](Engine::answer) its request instead.
    ///
    /// The cancellation is delivered to the model, now or as the agent's
    /// [`on_settled`](crate::engine::Agent::on_settled) sets.
    ///
    /// ```
    /// # async fn example(
    /// #     engine: recount::engine::Engine,
    /// #     ticket: recount::prelude::Ticket,
    /// # ) -> Result<(), recount::engine::Error> {
    /// use recount::prelude::*;
    /// let reason = Some("ordered twice".to_owned());
    /// engine.cancel(ticket.session, ticket.call, reason, Actor::embedder("ada")).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] if the session has no such call, or with the outcome if it ended before.
    pub async fn cancel(
        &self,
        session: SessionId,
        call: Seq,
        reason: Option<String>,
        by: Actor,
    ) -> Result<Seq, Error> {
        let command = Command::CancelCall { call, reason, by };
        self.command(session, command).await
    }
}

impl Desk {
    /// Cancels an open call as [`Engine::cancel`] does. The cancellation is delivered when the
    /// session is next served.
    ///
    /// A desk does not have the code of an agent's redactor or a tool's formatter. The reason is
    /// recorded as given, and the model gets the engine's text.
    ///
    /// # Errors
    /// Those of [`Engine::cancel`].
    pub async fn cancel(
        &self,
        session: SessionId,
        call: Seq,
        reason: Option<String>,
        by: Actor,
    ) -> Result<Seq, Error> {
        let command = Command::CancelCall { call, reason, by };
        self.take(session, command).await
    }
}
