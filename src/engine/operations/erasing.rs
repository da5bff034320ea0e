//! The erasure of a sealed session at the desk.

use super::desk::Desk;
use crate::ledger::{EraseError, Erasure};
use crate::session::{Actor, SessionId};

impl Desk {
    /// Erases a session: deletes its key, so that its sealed records cannot be opened. Returns the
    /// recorded erasure.
    ///
    /// An erasure is no `Operation`. It appends nothing to the session: its records belong to the
    /// journal's own stream, and its refusals are about keys. An engine that serves the session
    /// keeps the key in memory, so an engine never erases. In a journal that several processes
    /// write, this one owns the session from then on, so none serves it.
    ///
    /// ```
    /// # async fn example(
    /// #     desk: recount::engine::Desk,
    /// #     id: recount::session::SessionId,
    /// # ) -> Result<(), recount::ledger::EraseError> {
    /// use recount::prelude::*;
    /// let reason = "the customer asked, ticket 17";
    /// let erasure = desk.erase(id, reason, Actor::os_user("ada")).await?;
    /// assert!(erasure.erased.is_some());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`Ledger::erase`](crate::ledger::Ledger::erase), and
    /// [`Owned`](recount_journal::Error::Owned) if another process serves the session.
    pub async fn erase(
        &self,
        session: SessionId,
        reason: &str,
        by: Actor,
    ) -> Result<Erasure, EraseError> {
        self.ledger.own(session).await?;
        self.ledger
            .erase(session, by, reason, self.clock.now())
            .await
    }
}
