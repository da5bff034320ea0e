//! The stop switch of a handle's session.

use super::handle::LiveHandle;
use crate::engine::error::Error;
use crate::ledger::PauseTarget;
use crate::session::{Actor, Seq};

impl LiveHandle {
    /// Pauses this session, as [`Engine::pause`](crate::Engine::pause) does.
    ///
    /// ```
    /// # async fn example(
    /// #     live: recount::engine::LiveHandle,
    /// # ) -> Result<(), recount::engine::Error> {
    /// use recount::prelude::*;
    /// live.pause(Some("wrong prices".to_owned()), false, Actor::embedder("ada")).await?;
    /// live.unpause(None, Actor::embedder("ada")).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] if the session is paused already, or closed.
    pub async fn pause(
        &self,
        reason: Option<String>,
        cancel_running: bool,
        by: Actor,
    ) -> Result<Seq, Error> {
        let target = PauseTarget::Session(self.session_id());
        self.engine()
            .pause(target, reason, cancel_running, by)
            .await
    }

    /// Ends the pause of this session, as [`Engine::unpause`](crate::Engine::unpause) does.
    ///
    /// # Errors
    /// [`Error::Refused`] if the session is not paused by itself, or closed.
    pub async fn unpause(&self, reason: Option<String>, by: Actor) -> Result<Seq, Error> {
        let target = PauseTarget::Session(self.session_id());
        self.engine().unpause(target, reason, by).await
    }
}
