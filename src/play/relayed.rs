//! The connections of clients that a gateway relayed, made again.

use std::time::Duration;

use tokio::sync::mpsc;

use super::driver::Driver;
use super::error::Error;
use super::model::RecordedModel;
use super::processes::is_idle_detachment;
use super::tools::{self, Prompter};
use crate::engine::{Relay, RelayOrder};
use crate::fixture::{ClientConnected, Fixture, RELAYED, Step, ToolsChanged};
use crate::live::{Capabilities, Platform};
use crate::session::catalog::{Catalog, ToolKind};
use crate::session::{Actor, Lease, PolicySet, ResumptionHandle};
use crate::tool::Toolset;

/// The text of each handle in a fixture.
const HANDLE: &str = "[redacted]";

/// Returns the tools of a catalog that clients run.
pub(super) fn client_tools(
    catalog: &Catalog,
    policies: &PolicySet,
    prompter: &Prompter,
) -> Toolset {
    let mut of_client = catalog.clone();
    of_client.tools.retain(|_, it| it.kind == ToolKind::Client);
    tools::on_record(&of_client, policies, prompter)
}

/// True if a gateway relayed the connections of the session.
pub(super) fn is_relayed(fixture: &Fixture) -> bool {
    clients(fixture).next().is_some()
}

/// True if the claim is one that the engine makes for the client of a connection.
pub(super) fn is_claim_of_relay(fixture: &Fixture, claim: &str) -> bool {
    clients(fixture).any(|it| it.claim.as_deref() == Some(claim))
}

fn clients(fixture: &Fixture) -> impl Iterator<Item = &ClientConnected> {
    fixture.steps().iter().filter_map(|it| match &it.step {
        Step::ClientConnected(it) => Some(it),
        Step::FrameOut(_)
        | Step::FrameIn(_)
        | Step::TextIn(_)
        | Step::ConnectionAsked
        | Step::ConnectionOpened
        | Step::ConnectionRefused(_)
        | Step::ConnectionLost(_)
        | Step::ProcessGone(_)
        | Step::ProcessBegan(_)
        | Step::ToolsChanged(_)
        | Step::Observed(_) => None,
    })
}

impl Driver<'_> {
    /// Gives the session the connection of a client.
    pub(super) async fn client_connects(&mut self, it: &ClientConnected) -> Result<(), Error> {
        self.hold_unconnected().await?;
        let (orders, taken) = mpsc::unbounded_channel();
        let model = self.terms.model.clone().unwrap_or_default();
        let claim = it.claim.clone().unwrap_or_default();
        let lease = it.lease_us.map(Duration::from_micros).map(Lease::new);
        let relay = Relay {
            platform: platform(&model, self.terms.capabilities),
            model,
            endpoint: "recorded".to_owned(),
            tools: self.of_client.clone(),
            resumed: it.resumed.then(|| ResumptionHandle::new(HANDLE)),
            client: it.by.clone().unwrap_or_else(|| Actor::embedder("client")),
            claim: claim.strip_prefix(RELAYED).unwrap_or(&claim).to_owned(),
            lease: lease.and_then(Result::ok).unwrap_or(Lease::DEFAULT),
            receiver: self.model.relay(),
            orders,
        };
        tokio::spawn(take(taken, self.model.clone()));
        let policies = self.changed_policies.clone();
        self.with_handle("the connection of a client", move |live| async move {
            live.relay_on_record(relay, policies).await
        });
        self.relayed = true;
        self.settle().await
    }

    /// Takes the changed tools of a client, which has connected or connects `next`. Returns false
    /// if the session has no client.
    pub(super) fn client_changes_tools(&mut self, it: &ToolsChanged, next: Option<&Step>) -> bool {
        let connects = matches!(next, Some(Step::ClientConnected(_)));
        if !connects && !self.relayed {
            return false;
        }
        if self.fixture.real_tools {
            self.undone("the tools of a client cannot be played with real ones".to_owned());
        }
        let tools = client_tools(&it.catalog, &it.policies, &self.prompter);
        self.of_client = tools.clone();
        self.changed_policies = it.policies.clone();
        self.declared = it.catalog.tools.keys().cloned().collect();
        if !connects {
            let policies = it.policies.clone();
            self.with_handle("other tools of a client", move |live| async move {
                live.relay_tools_on_record(tools, policies).await
            });
        }
        true
    }

    /// Ends the connection of a client. The gateway drops its handle of the session then, unless
    /// another client has connected before the runner would detach.
    pub(super) async fn client_leaves(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.relayed) && self.is_idle_next() {
            self.settle().await?;
            self.live = None;
        }
        Ok(())
    }

    /// True if the runner detached for idleness before a further connection of a client.
    fn is_idle_next(&self) -> bool {
        let steps = self.fixture.steps().iter().skip(self.next);
        let mut steps = steps.map(|it| (&it.step, is_idle_detachment(&it.step)));
        let next = steps.find(|(it, idle)| *idle || matches!(it, Step::ClientConnected(_)));
        next.is_some_and(|(_, idle)| idle)
    }
}

/// Takes the orders of the session. The messages among them count as sent to the model.
async fn take(mut orders: mpsc::UnboundedReceiver<Box<RelayOrder>>, model: RecordedModel) {
    // A dropped report would be the end of the connection.
    let mut unwritten = Vec::new();
    while let Some(order) = orders.recv().await {
        match *order {
            RelayOrder::Send {
                message, written, ..
            } => {
                if model.relayed(message) {
                    let _ = written.send(());
                } else {
                    unwritten.push(written);
                }
            }
            RelayOrder::Received { .. }
            | RelayOrder::Waits { .. }
            | RelayOrder::Taken
            | RelayOrder::Deliver { .. }
            | RelayOrder::Ended { .. }
            | RelayOrder::Heard { .. } => {}
        }
    }
}

/// The platform with the recorded capabilities. A relayed connection sends one response for a call.
fn platform(model: &str, recorded: Option<Capabilities>) -> Platform {
    let mut vertex = Capabilities::of(Platform::Vertex, model);
    vertex.will_continue = false;
    match recorded == Some(vertex) {
        true => Platform::Vertex,
        false => Platform::GoogleAi,
    }
}
