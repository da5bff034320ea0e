//! The end of a session: because somebody outside wants it, or because a tool asked for it.

use super::session_task::SessionTask;
use crate::engine::error::Error;
use crate::session::Command;

impl SessionTask {
    /// Ends the session, if a tool asked for it and it is not closed.
    ///
    /// Whoever takes it up does so, too: the process that was to end it is gone, and with it the
    /// way of the tool's reply.
    pub(super) async fn close_as_asked(&mut self) -> Result<(), Error> {
        if self.stream.session.closed {
            self.over.cancel();
            return Ok(());
        }
        let Some(closing) = self.stream.session.closing.clone() else {
            return Ok(());
        };
        let (reason, by) = (closing.reason, closing.by);
        match Box::pin(self.command(Command::CloseSession { reason, by })).await {
            // Somebody was quicker.
            Ok(_) | Err(Error::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Hangs up where the session is closed: a model that still talks would call tools that nobody
    /// answers any more. Whoever follows the session hears no more.
    pub(super) async fn end_what_is_closed(&mut self) -> Result<(), Error> {
        if self.stream.session.closed {
            self.disconnect("the session was closed").await?;
            self.discard_handle().await;
            self.over.cancel();
        }
        Ok(())
    }
}
