//! The outcome of a call in doubt, found later and recorded through the session's task or the desk.

use super::desk::Desk;
use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;
use crate::ledger::Ledger;
use crate::session::{Actor, Command, Finding, Rejection, Seq};
use crate::tool::Ticket;

impl Engine {
    /// Records the outcome found for a call that ended as `unknown` or `timed_out`. Returns the
    /// record.
    ///
    /// The call has ended and keeps its outcome. The finding is delivered as conversation, now or
    /// on the next connection. The first finding counts.
    ///
    /// ```
    /// # async fn example(
    /// #     engine: recount::engine::Engine,
    /// #     ticket: recount::prelude::Ticket,
    /// # ) -> Result<(), recount::engine::Error> {
    /// use recount::prelude::*;
    /// use recount::session::Finding;
    /// let found = Finding::done(&json!({"receipt": 17}));
    /// engine.reconcile(&ticket, found, Actor::embedder("ada")).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] if the call is open, its outcome is known, or another finding came first,
    /// with what is recorded.
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
    /// Records the outcome found for a call, as [`Engine::reconcile`] does. The finding is
    /// delivered when the session is next served.
    ///
    /// # Errors
    /// Those of [`Engine::reconcile`].
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

/// Returns the command, if the ticket names the called tool. Only the record of an ended call has
/// its name.
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
