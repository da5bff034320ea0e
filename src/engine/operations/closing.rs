//! The close of a session, through its task or the desk.

use super::desk::Desk;
use crate::engine::error::Error;
use crate::engine::inputs::inbox::Input;
use crate::engine::serving::engine::Engine;
use crate::session::{Actor, Command, Seq, SessionId};

impl Engine {
    /// Closes a session, which cancels its open calls. Returns the record of the close.
    ///
    /// # Errors
    /// [`Error::Refused`] if it is closed already.
    pub async fn close_session(
        &self,
        session: SessionId,
        reason: &str,
        by: Actor,
    ) -> Result<Seq, Error> {
        let command = closes(reason, by);
        self.ask_task(session, |reply| Input::Command(command, reply))
            .await
    }
}

impl Desk {
    /// Closes a session as [`Engine::close_session`] does. Returns the record of the close.
    ///
    /// # Errors
    /// Those of [`Engine::close_session`].
    pub async fn close_session(
        &self,
        session: SessionId,
        reason: &str,
        by: Actor,
    ) -> Result<Seq, Error> {
        self.take(session, closes(reason, by)).await
    }
}

/// Returns the command that closes a session.
pub(in crate::engine) fn closes(reason: &str, by: Actor) -> Command {
    Command::CloseSession {
        reason: reason.to_owned(),
        by,
    }
}
