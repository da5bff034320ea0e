//! The agents and the sessions that an engine serves now.

use std::collections::BTreeSet;

use super::engine::Engine;
use crate::session::SessionId;

impl Engine {
    /// Returns the names of the registered agents.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount::prelude::*;
    ///
    /// let engine = Engine::in_memory().agent("orders", Agent::new()).open().await?;
    /// assert_eq!(engine.agent_names(), ["orders".to_owned()].into());
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn agent_names(&self) -> BTreeSet<String> {
        self.agents().keys().cloned().collect()
    }

    /// Returns the sessions that have a task in this engine. It is the runner of these.
    ///
    /// A session without a task is served again with the next input.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount::prelude::*;
    ///
    /// let engine = Engine::in_memory().agent("orders", Agent::new()).open().await?;
    /// assert!(engine.served_sessions().is_empty());
    /// let session = engine.session("orders").open().await?;
    /// assert!(engine.served_sessions().contains(&session.session_id()));
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn served_sessions(&self) -> BTreeSet<SessionId> {
        self.inner.registry.ids()
    }
}
