//! The session of a connection: it is opened beside the relay, and gets what the relay reports.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use recount::engine::{ClaimKey, Engine, Error, LiveHandle, Relay, RelayOrder};
use recount::ledger;
use recount::live::{ConnectionLost, Platform};
use recount::prelude::{T, Toolset};
use recount::session::catalog::Behavior;
use recount::session::{Actor, Lease, ResumptionHandle, Seq, SessionId};
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::copies::{Copies, CopyQueue, copies};
use super::known::Record;
use super::reports::{Report, Reported, Reports};
use super::task::Shared;
use crate::entrance::Admitted;
use crate::frames::setup::Declared;
use crate::index::Opening;
use crate::places::PlaceKey;

/// The time for which a client holds a call. The end of its connection ends it before.
const LEASE: Duration = Duration::from_secs(24 * 60 * 60);

/// The time between two attempts to record a report on a full disk.
const RETRY_EVERY: Duration = Duration::from_millis(500);

/// The number of attempts once the client has left.
const RETRIES_WITHOUT_CLIENT: u32 = 60;

/// The session that a connection needs.
pub(super) struct Wanted {
    pub(super) agent: String,
    /// The client and what it may do.
    pub(super) admitted: Admitted,
    /// The keys of the session, by which it may be known from an earlier connection.
    pub(super) places: Vec<PlaceKey>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) external_id: Option<String>,
    pub(super) on_behalf_of: Option<String>,
    pub(super) model: String,
    pub(super) endpoint: String,
    pub(super) platform: Platform,
    pub(super) tools: Vec<Declared>,
    pub(super) resumed: Option<ResumptionHandle>,
    /// The id of the claims of this connection.
    pub(super) claim: String,
}

/// The relay's ends of the channels to its session. Its reports have a channel of their own.
pub(super) struct Channels {
    pub(super) copies: CopyQueue,
    pub(super) orders: mpsc::UnboundedReceiver<Box<RelayOrder>>,
    /// The calls whose last answer was recorded, or refused by the session.
    pub(super) settled: mpsc::UnboundedReceiver<Settled>,
    /// The session, once it is open.
    pub(super) session: Opening,
    /// The end of the connection, to be set before the channels are dropped.
    pub(super) lost: Arc<OnceLock<ConnectionLost>>,
    /// The task that opens the session and hands it the reports.
    reporting: JoinHandle<()>,
}

/// The end of the report of a client's last answer to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) call: Seq,
    pub(super) record: Record,
}

impl Channels {
    /// Ends the session's part: first the reports of the client, then its connection.
    pub(super) async fn end(self, reports: Reports) {
        drop(reports);
        let _ = self.reporting.await;
        drop(self.copies);
    }
}

/// Opens the session beside the relay. It ends the connection that had it; `cut` ends this one.
pub(super) fn open(
    shared: &Arc<Shared>,
    wanted: Wanted,
    cut: CancellationToken,
    recorded: watch::Receiver<u64>,
    mut reported: Reported,
) -> Channels {
    let (ordering, orders) = mpsc::unbounded_channel();
    let (settling, settled) = mpsc::unbounded_channel();
    let (known, session) = watch::channel(None);
    shared.index.presume(&session, &wanted.places);
    let lost = Arc::<OnceLock<ConnectionLost>>::default();
    let (copies, receiver) = copies(recorded, lost.clone());
    let shared = shared.clone();
    let reporting = tokio::spawn(async move {
        let client = wanted.admitted.actor().clone();
        let claim = format!("relay/{}", wanted.claim);
        // Boxed, because it ends long before the task does.
        let begun = begin(&shared, &known, wanted, cut, receiver, ordering);
        match Box::pin(begun).await {
            Ok(handle) => {
                let session = handle.session_id();
                let reporter = Reporter {
                    engine: shared.engine.clone(),
                    handle,
                    client,
                    claim,
                };
                reporter.serve(&mut reported, settling).await;
                shared.sessions.leave(session, &reporter.claim, Vec::new());
            }
            // The relay sees it by the end of its orders.
            Err(error) => {
                tracing::error!(%error, "a client has no session: no call is delivered");
                let opened = *known.borrow();
                match opened {
                    Some(session) => shared.sessions.leave(session, &claim, Vec::new()),
                    None => shared.index.settle(&known, None),
                }
            }
        }
        // The relay sees it, if the session was not opened.
        drop(known);
    });
    Channels {
        copies,
        orders,
        settled,
        session,
        lost,
        reporting,
    }
}

async fn begin(
    shared: &Shared,
    known: &watch::Sender<Option<SessionId>>,
    wanted: Wanted,
    cut: CancellationToken,
    receiver: Copies,
    orders: mpsc::UnboundedSender<Box<RelayOrder>>,
) -> Result<LiveHandle, Error> {
    let (engine, index) = (&shared.engine, &shared.index);
    // Before the turn is taken: the other connection may wait for the same one.
    let mut found = None;
    for key in &wanted.places {
        found = found.or(index.find(*key).await);
    }
    // Another connection with the same name may be about to open its session.
    let turn = index.turn(&wanted.places).await;
    let found = found.or_else(|| wanted.places.iter().find_map(|it| index.known(*it)));
    let handle = match found {
        Some(session) => reopened(engine, session, &wanted).await?,
        None => None,
    };
    let handle = match handle {
        Some(handle) => handle,
        None => {
            let mut new = engine.session(&wanted.agent);
            for (key, value) in &wanted.labels {
                new = new.label(key, value);
            }
            if let Some(id) = &wanted.external_id {
                new = new.external_id(id);
            }
            if let Some(name) = &wanted.on_behalf_of {
                new = new.on_behalf_of(name);
            }
            new.open().await?.releasing()
        }
    };
    let session = handle.session_id();
    index.put(PlaceKey::of_session(session), session);
    index.settle(known, Some(session));
    for place in &wanted.places {
        index.put(*place, handle.session_id());
    }
    drop(turn);
    // Before the session ends the earlier connection: its relay must not take that for the end of
    // the session, and refuse calls that go on here.
    let claim = format!("relay/{}", wanted.claim);
    shared.sessions.enter(session, &claim, cut);
    let client = wanted.admitted.actor().clone();
    let relay = Relay {
        model: wanted.model,
        endpoint: wanted.endpoint,
        platform: wanted.platform,
        tools: toolset(&wanted.tools),
        resumed: wanted.resumed,
        client,
        claim: wanted.claim,
        lease: Lease::new(LEASE).unwrap_or(Lease::DEFAULT),
        receiver: Box::new(receiver),
        orders,
    };
    handle.relay(relay).await?;
    Ok(handle)
}

/// Returns a session that goes on. `None` if it is closed, of another agent, or not the client's.
async fn reopened(
    engine: &Engine,
    session: SessionId,
    wanted: &Wanted,
) -> Result<Option<LiveHandle>, Error> {
    let handle = match engine.reopen(session).await {
        Ok(handle) => handle.releasing(),
        Err(Error::Ledger(ledger::Error::UnknownSession { .. })) => return Ok(None),
        Err(error) => return Err(error),
    };
    let state = handle.session().await?;
    let agent = wanted.agent.as_str();
    // The name of a client may be that of other tokens, which allow other labels.
    let opened = engine.ledger().opened(session).await?;
    let may = opened.is_some_and(|(_, opened)| {
        let model = Some(wanted.model.as_str());
        wanted.admitted.may_use(agent, &opened.labels, model)
    });
    let goes_on = may && !state.closed && state.agent.as_deref() == Some(agent);
    Ok(goes_on.then_some(handle))
}

/// The way of reports to the session.
struct Reporter {
    engine: Engine,
    handle: LiveHandle,
    client: Actor,
    claim: String,
}

impl Reporter {
    /// Hands reports to the session, one after the other, until the relay ends.
    async fn serve(&self, reported: &mut Reported, settling: mpsc::UnboundedSender<Settled>) {
        let session = self.handle.session_id();
        while let Some((report, bytes)) = reported.next().await {
            let call = report.answers();
            // Boxed, so that a task that waits for a report is small.
            let recorded = Box::pin(self.record_in_time(report, reported)).await;
            if let Err(error) = &recorded {
                tracing::warn!(%session, %error, "a report of a client was not recorded");
            }
            if let Some(call) = call {
                let record = match recorded {
                    Ok(()) => Record::Made,
                    Err(Error::Refused(_)) => Record::Refused,
                    Err(_) => Record::Failed,
                };
                let _ = settling.send(Settled { call, record });
            }
            reported.note(bytes);
        }
    }

    /// Records a report. A full disk rejects it, so it is tried again until there is room.
    async fn record_in_time(&self, report: Report, reported: &Reported) -> Result<(), Error> {
        let mut without_client = 0;
        loop {
            match self.record(&report).await {
                Err(error) if is_full(&error) && without_client < RETRIES_WITHOUT_CLIENT => {
                    tracing::debug!(%error, "a report of a client waits for the disk");
                    without_client += u32::from(reported.is_ended());
                    sleep(RETRY_EVERY).await;
                }
                ended => return ended,
            }
        }
    }

    async fn record(&self, report: &Report) -> Result<(), Error> {
        let (engine, handle, by) = (&self.engine, &self.handle, self.client.clone());
        match report {
            Report::Said(text) => handle.client_said(text.as_str()).await,
            Report::Return {
                start,
                response,
                is_interim,
            } => {
                let key = ClaimKey {
                    session: handle.session_id(),
                    call: start.call,
                    attempt: Some(start.attempt),
                    claim: self.claim.clone(),
                };
                let response = response.clone();
                match is_interim {
                    true => engine.yield_claim(key, response, by).await.map(drop),
                    false => engine.finish_claim(key, Ok(response), by).await.map(drop),
                }
            }
            Report::Late { key, response } => {
                let late = engine.finish_claim(key.clone(), Ok(response.clone()), by);
                late.await.map(drop)
            }
            Report::Tools(declared) => handle.relay_tools(toolset(declared)).await,
        }
    }
}

/// True if the disk of the journal has no room.
fn is_full(error: &Error) -> bool {
    let journal = match error {
        Error::Ledger(ledger::Error::Journal(journal)) => journal,
        _ => return false,
    };
    matches!(journal, recount::journal::Error::NoSpace { .. })
}

/// The client's functions as tools. Its own program checks their arguments.
fn toolset(declared: &[Declared]) -> Toolset {
    let tools = declared.iter().map(|it| {
        let schema = it.parameters.clone();
        let schema = schema.unwrap_or_else(|| json!({"type": "object"}));
        let description = it.description.clone().unwrap_or_default();
        let tool = T::client(it.name.as_str(), description, schema);
        // A call that the model has cancelled is held for no longer.
        let tool = T::withdraw_on_cancel(tool);
        match it.behavior.as_deref() {
            Some("BLOCKING") => T::behavior(tool, Behavior::Blocking),
            Some("NON_BLOCKING") => T::behavior(tool, Behavior::NonBlocking),
            Some(_) | None => tool,
        }
    });
    tools.fold(Toolset::default(), |all, tool| all | tool)
}
