//! The session of a connection: it is opened beside the relay, and gets what the relay reports.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use recount::engine::{ClaimKey, Engine, Error, LiveHandle, Relay, RelayOrder};
use recount::ledger;
use recount::live::{ConnectionLost, FrameReceiver, Platform};
use recount::prelude::{T, Toolset};
use recount::session::catalog::Behavior;
use recount::session::{Actor, Json, Lease, ResumptionHandle, SessionId};
use serde_json::json;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::entrance::Admitted;
use crate::frames::setup::Declared;
use crate::index::{Index, Opening};
use crate::places::PlaceKey;
use crate::sessions::Start;

/// The time for which a client holds a call. The end of its connection ends it before.
const LEASE: Duration = Duration::from_secs(24 * 60 * 60);

/// The number of copies of messages that wait for a busy session. Then a copy without a call is
/// dropped, and with one the vendor waits.
pub(super) const COPIES: usize = 256;

/// The number of copies that only messages with calls take. A journal that does not write must not
/// hold up the others.
const KEPT_FOR_CALLS: usize = 32;

/// The maximum size of these copies, in bytes. One more than there is room for is taken, too.
const COPIES_BYTES: usize = 4 << 20;

/// The number of reports that wait for a busy session. Then the client waits.
pub(super) const REPORTS: usize = 256;

/// A report of the relay to its session.
pub(super) enum Report {
    /// The client sent text to the model.
    Said(String),
    /// The client answered a call of this connection.
    Return {
        start: Start,
        response: Json,
        is_interim: bool,
    },
    /// The client answered a call of an earlier connection.
    Late { key: ClaimKey, response: Json },
    /// The client declared other tools. The sender fires once they count.
    Tools(Vec<Declared>, oneshot::Sender<()>),
}

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

/// The relay's ends of the channels to its session.
pub(super) struct Channels {
    copies: mpsc::Sender<String>,
    /// The size of the copies that wait, in bytes.
    waiting: Arc<AtomicUsize>,
    /// Each is boxed, because a channel reserves memory for 32 of them.
    pub(super) reports: mpsc::Sender<Box<Report>>,
    pub(super) orders: mpsc::UnboundedReceiver<Box<RelayOrder>>,
    /// The session, once it is open.
    pub(super) session: Opening,
    /// The end of the connection, to be set before the channels are dropped.
    pub(super) lost: Arc<OnceLock<ConnectionLost>>,
    /// The task that opens the session and hands it the reports.
    reporting: JoinHandle<()>,
}

impl Channels {
    /// Hands a copy to the session. False if the session is gone or too busy.
    pub(super) fn copy(&self, text: &str) -> bool {
        // Before the session can take it.
        self.waiting.fetch_add(text.len(), Ordering::Relaxed);
        let is_sent = self.copies.try_send(text.to_owned()).is_ok();
        if !is_sent {
            self.waiting.fetch_sub(text.len(), Ordering::Relaxed);
        }
        is_sent
    }

    /// True if the session takes a copy of a message with calls.
    pub(super) fn has_room(&self) -> bool {
        self.copies.capacity() > 0 && self.waiting.load(Ordering::Relaxed) < COPIES_BYTES
    }

    /// True if it takes a copy of another message. A part of the room is for those with calls.
    pub(super) fn has_room_for_others(&self) -> bool {
        let bytes = self.waiting.load(Ordering::Relaxed);
        self.copies.capacity() > KEPT_FOR_CALLS && bytes < COPIES_BYTES / 2
    }

    /// Ends the session's part: first the answers that the client gave, then its connection.
    /// Returns the session if it was opened and is not known yet.
    pub(super) async fn end(self, unreported: VecDeque<Report>) -> Option<SessionId> {
        for report in unreported {
            if self.reports.send(Box::new(report)).await.is_err() {
                break;
            }
        }
        drop(self.reports);
        let _ = self.reporting.await;
        drop(self.copies);
        *self.session.borrow()
    }
}

/// The copies of messages, as the session receives them.
struct Copies {
    copies: mpsc::Receiver<String>,
    /// The size of those that wait, in bytes.
    waiting: Arc<AtomicUsize>,
    lost: Arc<OnceLock<ConnectionLost>>,
}

#[async_trait]
impl FrameReceiver for Copies {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        let ended = || ConnectionLost {
            code: None,
            reason: "the relay ended".to_owned(),
        };
        let copy = self.copies.recv().await;
        if let Some(copy) = &copy {
            self.waiting.fetch_sub(copy.len(), Ordering::Relaxed);
        }
        copy.ok_or_else(|| self.lost.get().cloned().unwrap_or_else(ended))
    }
}

/// Opens the session beside the relay.
pub(super) fn open(engine: &Engine, index: &Arc<Index>, wanted: Wanted) -> Channels {
    let (copies, received) = mpsc::channel(COPIES);
    let (reports, reported) = mpsc::channel(REPORTS);
    let (ordering, orders) = mpsc::unbounded_channel();
    let (known, session) = watch::channel(None);
    index.presume(&session, &wanted.places);
    let lost = Arc::<OnceLock<ConnectionLost>>::default();
    let waiting = Arc::<AtomicUsize>::default();
    let receiver = Copies {
        copies: received,
        waiting: waiting.clone(),
        lost: lost.clone(),
    };
    let (engine, index) = (engine.clone(), index.clone());
    let reporting = tokio::spawn(async move {
        let client = wanted.admitted.actor().clone();
        let claim = wanted.claim.clone();
        // Boxed, because it ends long before the task does.
        let begun = Box::pin(begin(&engine, &index, &known, wanted, receiver, ordering)).await;
        match begun {
            Ok(handle) => {
                serve(&engine, handle, (client, claim), reported).await;
            }
            // The relay sees it by the end of its orders.
            Err(error) => {
                tracing::error!(%error, "a client has no session: no call is delivered");
                if known.borrow().is_none() {
                    index.settle(&known, None);
                }
            }
        }
        // The relay sees it, if the session was not opened.
        drop(known);
    });
    Channels {
        copies,
        waiting,
        reports,
        orders,
        session,
        lost,
        reporting,
    }
}

async fn begin(
    engine: &Engine,
    index: &Index,
    known: &watch::Sender<Option<SessionId>>,
    wanted: Wanted,
    receiver: Copies,
    orders: mpsc::UnboundedSender<Box<RelayOrder>>,
) -> Result<LiveHandle, Error> {
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
    let client = wanted.admitted.actor().clone();
    let relay = Relay {
        model: wanted.model,
        endpoint: wanted.endpoint,
        platform: wanted.platform,
        tools: toolset(wanted.tools),
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

/// Hands reports to the session, one after the other.
async fn serve(
    engine: &Engine,
    handle: LiveHandle,
    (client, claim): (Actor, String),
    mut reports: mpsc::Receiver<Box<Report>>,
) {
    let session = handle.session_id();
    while let Some(report) = reports.recv().await {
        // Boxed, so that a task that waits for a report is small.
        let recorded = Box::pin(record(engine, &handle, (&client, &claim), *report));
        if let Err(error) = recorded.await {
            tracing::warn!(%session, %error, "a report of a client was not recorded");
        }
    }
}

async fn record(
    engine: &Engine,
    handle: &LiveHandle,
    (client, claim): (&Actor, &str),
    report: Report,
) -> Result<(), Error> {
    let by = client.clone();
    match report {
        Report::Said(text) => handle.client_said(text).await,
        Report::Return {
            start,
            response,
            is_interim,
        } => {
            let key = ClaimKey {
                session: handle.session_id(),
                call: start.call,
                attempt: Some(start.attempt),
                claim: format!("relay/{claim}"),
            };
            match is_interim {
                true => engine.yield_claim(key, response, by).await.map(drop),
                false => engine.finish_claim(key, Ok(response), by).await.map(drop),
            }
        }
        Report::Late { key, response } => {
            let late = engine.finish_claim(key, Ok(response), by);
            late.await.map(drop)
        }
        Report::Tools(declared, counts) => {
            let changed = handle.relay_tools(toolset(declared)).await;
            let _ = counts.send(());
            changed
        }
    }
}

/// The client's functions as tools. Its own program checks their arguments.
fn toolset(declared: Vec<Declared>) -> Toolset {
    let tools = declared.into_iter().map(|it| {
        let schema = it.parameters.unwrap_or_else(|| json!({"type": "object"}));
        let tool = T::client(it.name, it.description.unwrap_or_default(), schema);
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
