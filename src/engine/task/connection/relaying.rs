//! A connection that another program owns: its begin, and the calls that its client gets.

use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use crate::engine::agents::prepared::Prepared;
use crate::engine::error::Error;
use crate::engine::inputs::relay::{OrderingSender, Relay, RelayOrder, Relayed};
use crate::engine::task::parts::Stream;
use crate::engine::task::session_task::SessionTask;
use crate::fixture::{CLIENT_AGAIN, CLIENT_GONE, ClientConnected, RELAYED};
use crate::live::{Connection, Platform};
use crate::session::{
    Call, ClaimAction, ClaimCommand, Command, Connected, Decision, Disconnected, Event, Fact,
    Observation, Outcome, Phase, PolicySet, Rejection, Seq, Timestamp, UserTextSent, admit_at,
    fits,
};
use crate::tool::Toolset;

/// The number of tools up to which an agent is prepared where its session runs: a millisecond at
/// most. A thousand take a third of a second.
const FEW_TOOLS: usize = 16;

impl SessionTask {
    /// Takes a connection of a client, in place of its earlier one. Returns the record, and the
    /// mistakes of tools that the agent cannot serve.
    pub(in crate::engine) async fn relay(
        &mut self,
        relay: Relay,
        on_record: Option<PolicySet>,
    ) -> Result<(Seq, Vec<String>), Error> {
        if self.stream.session.closed {
            return Err(Error::Refused(Rejection::SessionClosed));
        }
        if self.shared.slots.is_shut() {
            return Err(Error::ShutDown);
        }
        if self.connections.opening.is_some() || self.is_connected_itself() {
            return Err(Error::AlreadyConnected { session: self.id });
        }
        let model = Some((relay.model.as_str(), relay.platform));
        let (agent, mistakes) = self.relayed_agent(model, relay.tools, on_record).await?;
        self.end_relay(CLIENT_AGAIN).await?;
        self.serve_with_tools_of(agent).await?;
        let connected = Connected {
            model: relay.model,
            endpoint: relay.endpoint,
            phase: None,
            capabilities: Some(self.agent.capabilities),
            non_blocking: self.agent.non_blocking.to_vec(),
            resumed: relay.resumed.map(|it| it.fingerprint()),
        };
        let connection = Connection {
            sender: Box::new(OrderingSender(relay.orders.clone())),
            receiver: relay.receiver,
        };
        let relayed = Relayed {
            claim: relay.claim,
            client: relay.client,
            lease: relay.lease,
            orders: relay.orders,
        };
        self.order_waiting(&relayed);
        // Before the batch, which claims the calls that waited for the client.
        self.connections.relay = Some(relayed);
        self.connected(connected, connection, None).await?;
        let connection = self.stream.session.connection.unwrap_or_default();
        Ok((connection, mistakes))
    }

    /// Takes other tools of the client. Returns the mistakes of those that the agent cannot serve.
    pub(in crate::engine) async fn relay_tools(
        &mut self,
        tools: Toolset,
        on_record: Option<PolicySet>,
    ) -> Result<Vec<String>, Error> {
        let (agent, mistakes) = self.relayed_agent(None, tools, on_record).await?;
        self.serve_with_tools_of(agent).await?;
        Ok(mistakes)
    }

    /// Returns the agent with the tools of the client. Those that it cannot serve are left out, so
    /// that only their calls are refused; their mistakes are returned, too. `on_record` are the
    /// policies of a fixture that is played.
    async fn relayed_agent(
        &self,
        model: Option<(&str, Platform)>,
        tools: Toolset,
        on_record: Option<PolicySet>,
    ) -> Result<(Arc<Prepared>, Vec<String>), Error> {
        let ledger = self.stream.ledger.clone();
        let agent = Arc::clone(&self.agent);
        let model = model.map(|(name, platform)| (name.to_owned(), platform));
        if on_record.is_some() {
            let model = model.as_ref().map(|(name, it)| (name.as_str(), *it));
            let agent = agent.relayed_on_record(model, tools, on_record, &ledger);
            return agent
                .map(|it| (Arc::new(it), Vec::new()))
                .map_err(|mistakes| Error::Configuration { mistakes });
        }
        let changed = Arc::clone(&self.shared.changed_agents);
        let are_few = tools.tools().len() <= FEW_TOOLS;
        let prepare = move || {
            let model = model.as_ref().map(|(name, it)| (name.as_str(), *it));
            changed.relayed.fitting(&agent, model, tools, &ledger)
        };
        let prepared = match are_few {
            true => prepare(),
            // Other sessions of this thread would wait, and their audio with them.
            false => match spawn_blocking(prepare).await {
                Ok(prepared) => prepared,
                Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
                Err(_) => return Err(Error::ShutDown),
            },
        };
        prepared.map_err(|mistakes| Error::Configuration { mistakes })
    }

    /// True if the session has a connection that it opened itself.
    fn is_connected_itself(&self) -> bool {
        self.connections.socket.is_some() && self.connections.relay.is_none()
    }

    /// Ends the relayed connection from the session's side. Its client holds no call any more.
    async fn end_relay(&mut self, reason: &str) -> Result<(), Error> {
        let Some(epoch) = self.connections.socket.as_ref().map(|it| it.epoch) else {
            // A process that was killed has left claims of its clients.
            let ended = self.ended_claims();
            return self.record(ended).await;
        };
        self.record_held().await?;
        self.connections.close_socket();
        let disconnected = Disconnected {
            epoch,
            code: None,
            reason: reason.to_owned(),
        };
        let mut batch = vec![disconnected.into()];
        batch.extend(self.ended_claims());
        self.connections.relay = None;
        self.record(batch).await
    }

    /// Ends the claims of the relayed connection that was lost. They follow its end on record.
    pub(in crate::engine) fn lost_relay(&mut self) -> Vec<Observation> {
        match self.connections.relay.take() {
            Some(_) => self.ended_claims(),
            None => Vec::new(),
        }
    }

    /// Returns the ends of all claims of relayed connections.
    fn ended_claims(&self) -> Vec<Observation> {
        let session = &self.stream.session;
        let held = session.calls.iter().filter_map(|(call, it)| {
            let claim = it.held_claim()?;
            let is_relayed = claim.claim.starts_with(RELAYED);
            is_relayed.then(|| (*call, claim.attempt, claim.claim.clone(), claim.by.clone()))
        });
        let ends = held.map(|(call, attempt, claim, by)| {
            let action = ClaimAction::End {
                reason: Some(CLIENT_GONE.to_owned()),
                not_begun: false,
            };
            Command::Claim(ClaimCommand {
                call,
                attempt: Some(attempt),
                claim,
                by,
                action,
            })
        });
        let now = self.shared.clock.now();
        ends.filter_map(|it| admit_at(session, now, it).ok())
            .collect()
    }

    /// Returns the claim of the next call that the client of the relayed connection is to get.
    pub(in crate::engine) fn claim_for_client(&self, now: Timestamp) -> Option<Observation> {
        let relay = self.connections.relay.as_ref()?;
        let session = &self.stream.session;
        session.connection?;
        let waits = |it: &Call| {
            let may_start = matches!(it.phase, Phase::Ready { .. } | Phase::InDoubt { .. });
            may_start && self.agent.of_client.contains(&it.name)
        };
        let calls = session.calls.iter().filter(|(_, it)| waits(it));
        calls.into_iter().find_map(|(call, _)| {
            let command = Command::Claim(ClaimCommand {
                call: *call,
                attempt: None,
                claim: format!("{RELAYED}{}", relay.claim),
                by: relay.client.clone(),
                action: ClaimAction::Claim {
                    until_us: relay.lease.until(now),
                },
            });
            admit_at(session, now, command).ok()
        })
    }

    /// Gives the orders that follow from recorded facts.
    pub(in crate::engine) fn order_relay(&self, facts: &[Fact]) {
        let Some(relay) = &self.connections.relay else {
            return;
        };
        for fact in facts {
            match &fact.event {
                Event::Observed(Observation::CallClaimed(it))
                    if it.claim.strip_prefix(RELAYED) == Some(&relay.claim) =>
                {
                    let delivered = self.stream.delivered(it.call, it.attempt);
                    delivered.into_iter().for_each(|it| relay.order(it));
                }
                Event::Observed(_) | Event::Decided(_) => relay.orders_of(fact),
            }
        }
    }

    /// Names the model's calls that no client has to a new relay.
    fn order_waiting(&self, relay: &Relayed) {
        let waits = |it: &Call| {
            let is_of_model = !it.made_by_program && it.parent.is_none();
            is_of_model
                && matches!(
                    it.phase,
                    Phase::AwaitingHook
                        | Phase::AwaitingConfirmation { .. }
                        | Phase::Ready { .. }
                        | Phase::Running { .. }
                )
        };
        let calls = self.stream.session.calls.iter();
        for (call, it) in calls.filter(|(_, it)| waits(it)) {
            relay.order(RelayOrder::Waits {
                call: *call,
                id: it.wire_id.clone(),
                tool: it.name.clone(),
            });
        }
        relay.order(RelayOrder::Taken);
    }

    /// Tells the relay that a message is on record, with the calls beyond the limit.
    pub(in crate::engine) fn order_heard(&self) {
        if let Some(relay) = &self.connections.relay
            && self.connections.rest.is_empty()
        {
            let message = self.connections.heard;
            relay.order(RelayOrder::Heard { message });
        }
    }

    /// Records text that the client of the relayed connection sent to the model.
    pub(in crate::engine) async fn client_said(&mut self, text: String) -> Result<(), Error> {
        let epoch = self.connections.socket.as_ref().map(|it| it.epoch);
        let (Some(epoch), Some(_)) = (epoch, &self.connections.relay) else {
            return Ok(());
        };
        // Text that does not fit a record has reached the model all the same.
        let Ok(said) = fits(UserTextSent { epoch, text }.into()) else {
            return Ok(());
        };
        self.connections.reconnecting.addressed = true;
        self.record(vec![said]).await
    }
}

impl Stream {
    /// Returns the order to deliver a call that was claimed. None if its sealed arguments cannot be
    /// opened: its lease then puts it in doubt.
    fn delivered(&self, call: Seq, attempt: u32) -> Option<RelayOrder> {
        let open = self.session.calls.get(&call)?;
        let args = self.opened_arguments(open).ok()?;
        Some(RelayOrder::Deliver {
            call,
            attempt,
            id: open.wire_id.clone(),
            tool: open.name.clone(),
            args,
        })
    }
}

impl Relayed {
    /// The connection as a step of a fixture.
    pub(super) fn as_step(&self, connected: &Connected) -> ClientConnected {
        ClientConnected {
            claim: Some(format!("{RELAYED}{}", self.claim)),
            by: Some(self.client.clone()),
            lease_us: u64::try_from(self.lease.until(Timestamp(0)).0).ok(),
            resumed: connected.resumed.is_some(),
        }
    }

    fn orders_of(&self, fact: &Fact) {
        match &fact.event {
            Event::Observed(Observation::FunctionCallReceived(it)) if it.by.is_none() => {
                self.order(RelayOrder::Received {
                    call: fact.seq,
                    id: it.id.clone(),
                    tool: it.name.clone().unwrap_or_default(),
                });
            }
            Event::Decided(Decision::CallCancelled(it)) => {
                self.order(RelayOrder::Ended { call: it.call });
            }
            Event::Decided(Decision::ResponseIssued(it)) if it.outcome != Outcome::Interim => {
                self.order(RelayOrder::Ended { call: it.call });
            }
            Event::Decided(_) | Event::Observed(_) => {}
        }
    }
}
