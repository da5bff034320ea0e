//! The registration of an agent while the engine is open.

use crate::engine::agents::agent::Agent;
use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;

impl Engine {
    /// Registers an agent; from then on the sessions that name it can run.
    ///
    /// Effects owed in its existing sessions are started, as
    /// [`open`](crate::engine::EngineBuilder::open) does for the agents it knows. Approved calls
    /// run, interrupted ones are handled by their rule, and expired requests become a no.
    ///
    /// ```
    /// # async fn example() -> Result<(), recount::engine::Error> {
    /// use recount::prelude::*;
    /// let engine = Engine::builder("./journal").open().await?;
    /// engine.register("support", Agent::new().model("gemini-3.8-live"))?;
    /// # engine.shutdown(std::time::Duration::ZERO).await }
    /// ```
    ///
    /// # Errors
    /// [`Error::Configuration`] with every mistake, also if the name is taken.
    pub fn register(&self, name: impl Into<String>, agent: Agent) -> Result<(), Error> {
        let name = name.into();
        self.add(name.clone(), agent)?;
        self.follow_paused(&name);
        self.inner.alarm.add_agent(name);
        Ok(())
    }
}
