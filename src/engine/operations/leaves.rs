//! Standing leaves: their listing and revocation, through the session's task or the desk.

use super::desk::Desk;
use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;
use crate::ledger::{LeaveInForce, Ledger};
use crate::session::{Actor, Command, Seq, SessionId, Timestamp};

impl Engine {
    /// Returns the standing leaves in force of every session, oldest session first.
    ///
    /// A standing leave is an approval that also allows later calls of its tool. It ends with its
    /// count or time, when it is [revoked](Engine::revoke_leave), and when the tool's contract or
    /// policy changes.
    ///
    /// ```
    /// # async fn example(engine: recount::engine::Engine) -> Result<(), recount::engine::Error> {
    /// for leave in engine.standing_leaves().await? {
    ///     println!("{} may be called, {} calls so far", leave.tool, leave.used);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn standing_leaves(&self) -> Result<Vec<LeaveInForce>, Error> {
        in_force(self.ledger(), self.inner.clock.now()).await
    }

    /// Revokes a standing leave, and returns the record of it.
    ///
    /// Later calls are asked about again, and so are calls that the leave has allowed and that have
    /// not started. The people who could give the leave may revoke it.
    ///
    /// ```
    /// # async fn example(engine: recount::engine::Engine) -> Result<(), recount::engine::Error> {
    /// use recount::prelude::*;
    /// for it in engine.standing_leaves().await? {
    ///     let reason = Some("end of the shift".to_owned());
    ///     engine.revoke_leave(it.session, it.leave, reason, Actor::embedder("ada")).await?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] if the session has no such leave, if it ended before, or if the actor may
    /// not revoke it.
    pub async fn revoke_leave(
        &self,
        session: SessionId,
        leave: Seq,
        reason: Option<String>,
        by: Actor,
    ) -> Result<Seq, Error> {
        let command = Command::RevokeLeave { leave, reason, by };
        self.command(session, command).await
    }
}

impl Desk {
    /// Returns the standing leaves in force of every session, as [`Engine::standing_leaves`] does.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn standing_leaves(&self) -> Result<Vec<LeaveInForce>, Error> {
        in_force(&self.ledger, self.clock.now()).await
    }

    /// Revokes a standing leave as [`Engine::revoke_leave`] does.
    ///
    /// # Errors
    /// Those of [`Engine::revoke_leave`].
    pub async fn revoke_leave(
        &self,
        session: SessionId,
        leave: Seq,
        reason: Option<String>,
        by: Actor,
    ) -> Result<Seq, Error> {
        let command = Command::RevokeLeave { leave, reason, by };
        self.take(session, command).await
    }
}

async fn in_force(ledger: &Ledger, now: Timestamp) -> Result<Vec<LeaveInForce>, Error> {
    let mut leaves = ledger.leaves().await?;
    leaves.retain(|it| it.is_in_force(now));
    Ok(leaves)
}
