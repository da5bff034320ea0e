//! The folded state of a session, from its task or from the journal.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::engine::Engine;
use crate::engine::error::Error;
use crate::engine::inputs::inbox::Input;
use crate::session::{Session, SessionId};

/// The maximum wait for the reply of a task. A task whose append waits for room on the disk does
/// not reply.
const ASKED_MAX: Duration = Duration::from_secs(1);

impl Engine {
    /// Returns the current state of a session.
    ///
    /// A session that has a task here is not read from the journal again: the cost does not depend
    /// on its length. Any other session is loaded, and no task begins for it.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount::prelude::*;
    /// let engine = Engine::in_memory().agent("orders", Agent::new()).open().await?;
    /// let id = engine.session("orders").open().await?.session_id();
    /// assert_eq!(engine.folded(id).await?.agent.as_deref(), Some("orders"));
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the session is unknown or cannot be read.
    pub async fn folded(&self, session: SessionId) -> Result<Session, Error> {
        if self.expect_room().is_ok()
            && let Some(task) = self.inner.registry.task(session)
        {
            let (reply, answer) = oneshot::channel();
            if task.inbox.send(Input::Session(reply)).is_ok()
                && let Ok(Ok(folded)) = timeout(ASKED_MAX, answer).await
            {
                return Ok(folded);
            }
            // The task is blocked, has just ended or failed. The journal has what it recorded.
        }
        Ok(self.ledger().load(session).await?.session)
    }
}
