//! The registration of an agent while the engine is open, the change of its policies, and what the
//! agents have.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::engine::agents::agent::Agent;
use crate::engine::agents::changed::Names;
use crate::engine::error::Error;
use crate::engine::inputs::inbox::Input;
use crate::engine::serving::engine::Engine;
use crate::session::PolicyChanges;

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

    /// True if one of these agents has a client-run tool of this name. Without agents, all count.
    ///
    /// The tools of sessions whose tools were changed count, too.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount::prelude::*;
    ///
    /// let pack = T::client("pack", "Packs an order", json!({"type": "object"}));
    /// let engine = Engine::in_memory().agent("shop", Agent::new().tools(pack)).open().await?;
    /// assert!(engine.has_client_tool("pack", &Default::default()));
    /// assert!(!engine.has_client_tool("pack", &["billing".to_owned()].into()));
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn has_client_tool(&self, name: &str, agents: &BTreeSet<String>) -> bool {
        let changed = self.inner.changed_agents.all();
        let registered = self.agents();
        let mut all = registered.values().chain(&changed);
        all.any(|agent| {
            let declared = agent.catalog.tools.get(name);
            let is_asked = agents.is_empty() || agents.contains(&agent.name);
            is_asked && declared.is_some_and(|it| it.kind.runs_at_client())
        })
    }

    /// Replaces the policy files of an agent ([`Agent::policies`]), also in its open sessions.
    ///
    /// A session with a task records `catalog_changed`, and calls go on as after
    /// [`change_tools`](crate::engine::LiveHandle::change_tools): a running call runs on, and a
    /// question whose contract changed is asked again. Other sessions begin their next attachment
    /// with the new policies.
    ///
    /// ```
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    /// # runtime.unwrap().block_on(async {
    /// use recount::prelude::*;
    /// use recount::tool::policy_file;
    ///
    /// let pay = T::simple("pay", "Pays", |_| async { Ok(json!({"paid": true})) });
    /// let engine = Engine::in_memory().agent("orders", Agent::new().tools(pay)).open().await?;
    /// let session = engine.session("orders").open().await?;
    /// let file = policy_file::parse(r#"{"tools": {"pay": {"limit_per_session": 1}}}"#).unwrap();
    /// engine.change_policies("orders", vec![file]).await?;
    /// let pay = || session.call_function("pay", json!({}), Actor::embedder("pipeline"));
    /// assert!(pay().await.is_ok() && pay().await.is_err());
    /// # Ok::<(), recount::engine::Error>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownAgent`]; [`Error::Configuration`] with every mistake, and then nothing is
    /// changed; the error of a session that could not record the change.
    pub async fn change_policies(
        &self,
        agent: &str,
        files: Vec<PolicyChanges>,
    ) -> Result<(), Error> {
        let ledger = &self.inner.ledger;
        let mistaken = |mistakes| Error::Configuration { mistakes };
        let registered = self.agent(agent)?;
        let changed = registered.with_policies(files.clone(), Names::All, ledger);
        let changed = Arc::new(changed.map_err(mistaken)?);
        // Sessions with tools of their own and without a task. The tasks do it for theirs.
        let of_sessions = self.inner.changed_agents.of_agent(agent).into_iter();
        let of_sessions = of_sessions.map(|(session, own)| {
            let own = own.with_policies(files.clone(), Names::Those, ledger);
            own.map(|own| (session, Arc::new(own))).map_err(mistaken)
        });
        let of_sessions: Vec<_> = of_sessions.collect::<Result<_, _>>()?;
        self.agents().insert(agent.to_owned(), changed);
        for (session, own) in of_sessions {
            self.inner.changed_agents.set(session, own);
        }
        // Tasks that are spawned from now on look up the agent anew.
        let name: Arc<str> = agent.into();
        let mut changing = Vec::new();
        for task in self.inner.registry.all() {
            let (reply, changed) = oneshot::channel();
            let change = Input::ChangePolicies(name.clone(), files.clone(), reply);
            changing.extend(task.inbox.send(change).is_ok().then_some(changed));
        }
        for changed in changing {
            // A task that has ended attaches with the new policies when it is spawned again.
            if let Ok(changed) = changed.await {
                changed?;
            }
        }
        Ok(())
    }
}
