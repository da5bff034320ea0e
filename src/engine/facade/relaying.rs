//! Sessions whose connection another program owns and relays, such as a gateway.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::engine::error::Error;
use crate::engine::facade::handle::LiveHandle;
use crate::engine::inputs::inbox::Input;
use crate::engine::inputs::relay::Relay;
use crate::engine::serving::engine::Engine;
use crate::fixture::RELAYED;
use crate::ledger::ClaimKey;
use crate::live::manner::Manner;
use crate::live::{Capabilities, Platform, outgoing};
use crate::session::{Event, Observation, Seq};
use crate::tool::Toolset;

impl LiveHandle {
    /// Gives the session a connection of a client to the model's service, which the caller relays.
    /// It takes the place of an earlier one. Returns the record of the connection, and the mistakes
    /// of tools that the agent cannot serve, whose calls are refused.
    ///
    /// The session hears what the relay hands it, and gives its orders. Calls of the client's tools
    /// pass the agent's policies; those that may start are claimed for the client. When the
    /// connection ends, so do the client's claims, and the rules of their tools for calls in doubt
    /// apply.
    ///
    /// # Errors
    /// [`Error::Configuration`] with every mistake in the client's tools. [`Error::Refused`] if the
    /// session is closed, [`Error::AlreadyConnected`] if it has a connection that it opened itself.
    #[doc(hidden)]
    pub async fn relay(&self, relay: Relay) -> Result<(Seq, Vec<String>), Error> {
        self.ask(|reply| Input::Relay(relay, None, reply)).await
    }

    /// Replaces the tools that the client of the relayed connection declared. Returns the mistakes
    /// of those that the agent cannot serve, whose calls are refused.
    ///
    /// # Errors
    /// [`Error::Configuration`] with every mistake in the tools.
    #[doc(hidden)]
    pub async fn relay_tools(&self, tools: Toolset) -> Result<Vec<String>, Error> {
        self.ask(|reply| Input::RelayTools(tools, None, reply))
            .await
    }

    /// Returns the claims of calls that clients of earlier connections had and did not answer, by
    /// the ids that the model gave the calls. At most `max`, the newest ones.
    ///
    /// # Errors
    /// An error of the journal, or if the session's task has stopped.
    #[doc(hidden)]
    pub async fn unanswered(&self, max: usize) -> Result<Vec<(String, ClaimKey)>, Error> {
        let session = self.session().await?;
        let mut lapsed: Vec<_> = session.lapsed_claims().collect();
        lapsed.retain(|(_, it)| it.claim.starts_with(RELAYED));
        lapsed.sort_by_key(|(call, _)| std::cmp::Reverse(*call));
        let mut unanswered = Vec::new();
        for (call, claim) in lapsed.into_iter().take(max) {
            let id = match session.calls.get(&call) {
                Some(open) => open.wire_id.clone(),
                None => self.wire_id(call).await?,
            };
            let key = ClaimKey {
                session: self.session,
                call,
                attempt: Some(claim.attempt),
                claim: claim.claim.clone(),
            };
            unanswered.extend(id.map(|it| (it, key)));
        }
        Ok(unanswered)
    }

    /// The id that the model gave a call that has ended.
    async fn wire_id(&self, call: Seq) -> Result<Option<String>, Error> {
        let facts = self.engine.ledger().facts(self.session, call, 1).await?;
        Ok(facts.into_iter().find_map(|it| match it.event {
            Event::Observed(Observation::FunctionCallReceived(it)) => it.id,
            Event::Observed(_) | Event::Decided(_) => None,
        }))
    }

    /// Gives a session that is played a connection of a client, under the policies of its fixture.
    #[cfg(feature = "play")]
    pub(crate) async fn relay_on_record(
        &self,
        relay: Relay,
        policies: crate::session::PolicySet,
    ) -> Result<(), Error> {
        let relayed = self
            .ask(|reply| Input::Relay(relay, Some(policies), reply))
            .await;
        relayed.map(drop)
    }

    /// Replaces the tools of the client in a session that is played.
    #[cfg(feature = "play")]
    pub(crate) async fn relay_tools_on_record(
        &self,
        tools: Toolset,
        policies: crate::session::PolicySet,
    ) -> Result<(), Error> {
        let relayed = self
            .ask(|reply| Input::RelayTools(tools, Some(policies), reply))
            .await;
        relayed.map(drop)
    }

    /// Records text that the client of the relayed connection sent to the model. Nothing is sent.
    ///
    /// # Errors
    /// If the journal cannot be written.
    #[doc(hidden)]
    pub async fn client_said(&self, text: impl Into<String>) -> Result<(), Error> {
        let text = text.into();
        self.ask(|reply| Input::ClientSaid(text, reply)).await
    }
}

impl Engine {
    /// Returns the tools that the policy files of an agent name now. `None`: every tool.
    ///
    /// # Errors
    /// [`Error::UnknownAgent`].
    #[doc(hidden)]
    pub fn named_in_policies(&self, agent: &str) -> Result<Option<BTreeSet<String>>, Error> {
        Ok(self.agent(agent)?.named_in_policies())
    }

    /// Returns the tools of an agent as a setup declares them to a model: entries such as
    /// `{"functionDeclarations":[{"name":"refund",…}]}`.
    ///
    /// # Errors
    /// [`Error::UnknownAgent`].
    #[doc(hidden)]
    pub fn declared_tools(
        &self,
        agent: &str,
        model: &str,
        platform: Platform,
    ) -> Result<Vec<Value>, Error> {
        let agent = self.agent(agent)?;
        let capabilities = Capabilities::of(platform, model);
        let manner = Manner::default();
        let setup = outgoing::message(model, None, &agent.catalog, capabilities, &manner);
        let mut setup: Value = serde_json::from_str(&setup).unwrap_or_default();
        let tools = setup.pointer_mut("/setup/tools").map(Value::take);
        Ok(match tools {
            Some(Value::Array(tools)) => tools,
            Some(_) | None => Vec::new(),
        })
    }
}
