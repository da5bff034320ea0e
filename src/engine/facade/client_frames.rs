//! A client's messages, received by a handle.

use super::handle::LiveHandle;
use crate::engine::error::Error;
use crate::engine::received::Received;
use crate::session::Actor;

impl LiveHandle {
    /// Handles a client's message as [`crate::engine::Engine::receive_client_message`] does.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     live: recount::LiveHandle,
    /// #     frame: String,
    /// # ) -> Result<(), recount::engine::Error> {
    /// use recount::prelude::*;
    /// // Who it is, the service knows from the login; never from the message.
    /// live.receive_client_message(Actor::embedder("ada"), &frame).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`crate::engine::Engine::receive_client_message`].
    pub async fn receive_client_message(
        &self,
        by: Actor,
        message: &str,
    ) -> Result<Vec<Received>, Error> {
        let session = self.session_id();
        self.engine()
            .receive_client_message(session, by, message)
            .await
    }
}
