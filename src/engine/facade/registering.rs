//! An agent that comes while the engine is open.

use crate::engine::agents::agent::Agent;
use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;

impl Engine {
    /// Registers an agent; sessions that name it can run from here on.
    ///
    /// What is owed in sessions of before is begun, as it is by
    /// [`open`](crate::engine::EngineBuilder::open) for the agents that it knows: calls that were
    /// approved meanwhile run, what was cut off is looked after, silence that has lasted too long
    /// becomes a no.
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
    /// [`Error::Configuration`] with every mistake, also where the name is taken.
    pub fn register(&self, name: impl Into<String>, agent: Agent) -> Result<(), Error> {
        let name = name.into();
        self.add(name.clone(), agent)?;
        self.follow_paused(&name);
        self.inner.alarm.look_after(name);
        Ok(())
    }
}
