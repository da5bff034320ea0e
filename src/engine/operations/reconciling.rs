//! What became of a call whose outcome was unknown, found out later: through the session's task, or
//! at the desk.

use super::desk::Desk;
use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;
use crate::ledger::Ledger;
use crate::session::{Actor, Command, Finding, Rejection, Seq};
use crate::tool::Ticket;

impl Engine {
    /// Says what became of a call that ended as `unknown` or `timed_out`. Returns the record of it.
    ///
    /// The call has ended and keeps its outcome; the model is told what was found as a word of the
    /// conversation, now or on the next connection. The first word counts.
    ///
    /// ```
    /// # async fn example(engine: recount::engine::Engine, ticket: recount::prelude::Ticket) -> Result<(), recount::engine::Error> {
    /// use recount::prelude::*;
    /// use recount::session::Finding;
    /// let found = Finding::done(&json!({"receipt": 17}));
    /// engine.reconcile(&ticket, found, Actor::embedder("ada")).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] where the call is open, its outcome is known, or somebody was quicker,
    /// with what is on record then.
    pub async fn reconcile(
        &self,
        ticket: &Ticket,
        found: Finding,
        by: Actor,
    ) -> Result<Seq, Error> {
        let command = reconciles(self.ledger(), ticket, found, by).await?;
        self.command(ticket.session, command).await
    }
}

impl Desk {
    /// Says what became of a call that ended as `unknown` or `timed_out`, as [`Engine::reconcile`]
    /// does. The model is told when the session is next served.
    ///
    /// # Errors
    /// As of [`Engine::reconcile`].
    pub async fn reconcile(
        &self,
        ticket: &Ticket,
        found: Finding,
        by: Actor,
    ) -> Result<Seq, Error> {
        let command = reconciles(&self.ledger, ticket, found, by).await?;
        self.take(ticket.session, command).await
    }
}

/// The command, if the ticket names the tool that was called: of an ended call only its record
/// knows.
pub(super) async fn reconciles(
    ledger: &Ledger,
    ticket: &Ticket,
    found: Finding,
    by: Actor,
) -> Result<Command, Error> {
    let received = ledger.call_received(ticket.session, ticket.call).await?;
    if let Some(expected) = received.and_then(|it| it.name)
        && expected != ticket.tool
    {
        let found = ticket.tool.clone();
        return Err(Error::Refused(Rejection::WrongName { expected, found }));
    }
    Ok(Command::ReconcileOutcome {
        call: ticket.call,
        name: ticket.tool.clone(),
        found,
        by,
    })
}
