//! A call that is open is taken back: through the session's task, or at the desk.

use super::desk::Desk;
use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;
use crate::session::{Actor, Command, Seq, SessionId};

impl Engine {
    /// Takes back a call that is open, whatever it waits for: a person, its result, a free place,
    /// or a program that has its tool. A tool that runs is cut off. Returns the record of it.
    ///
    /// It undoes nothing: what a tool has done before it was cut off stays done, and the call keeps
    /// `cancelled` as its outcome. Of a call in doubt a person knows more where they
    /// [answer](Engine::answer) its request.
    ///
    /// The model is told that the call was cancelled, now or as the agent's
    /// [`on_settled`](crate::engine::Agent::on_settled) says.
    ///
    /// ```
    /// # async fn example(engine: recount::engine::Engine, ticket: recount::prelude::Ticket) -> Result<(), recount::engine::Error> {
    /// use recount::prelude::*;
    /// let reason = Some("ordered twice".to_owned());
    /// engine.cancel(ticket.session, ticket.call, reason, Actor::embedder("ada")).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] where the session has no such call, or it ended before, with how.
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
    /// Takes back a call that is open, as [`Engine::cancel`] does. The model is told when the
    /// session is next served.
    ///
    /// An agent's redactor and a tool's formatter are code that a desk does not have: the reason
    /// goes on record as it is, and the model hears the engine's words.
    ///
    /// # Errors
    /// As of [`Engine::cancel`].
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
