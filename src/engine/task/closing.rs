//! The end of a session, by a command from outside or at a tool's request.

use super::session_task::SessionTask;
use crate::engine::error::Error;
use crate::session::Command;

impl SessionTask {
    /// Closes the session if a tool requested it and the session is still open.
    ///
    /// A task that resumes the session calls it too, because the process that should have closed it
    /// is gone.
    pub(super) async fn close_if_requested(&mut self) -> Result<(), Error> {
        if self.stream.session.closed {
            self.over.cancel();
            return Ok(());
        }
        let Some(closing) = self.stream.session.closing.clone() else {
            return Ok(());
        };
        let (reason, by) = (closing.reason, closing.by);
        match Box::pin(self.command(Command::CloseSession { reason, by })).await {
            // Another command closed it first.
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Disconnects a closed session and ends its subscriptions. A model that keeps talking would
    /// make calls that get no response.
    pub(super) async fn disconnect_if_closed(&mut self) -> Result<(), Error> {
        if self.stream.session.closed {
            self.disconnect("the session was closed").await?;
            self.discard_handle().await;
            self.over.cancel();
        }
        Ok(())
    }
}
