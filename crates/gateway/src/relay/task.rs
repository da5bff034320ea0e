//! The task of a relay: reads and writes both sides, and decides nothing about a call.

use std::collections::BTreeMap;
use std::future::{pending, poll_fn, ready};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{SplitSink, SplitStream};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use recount::engine::{Engine, RelayOrder};
use recount::live::Platform;
use recount::session::SessionId;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, interval, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::calls::Calls;
use super::complaints::Complaints;
use super::ends::{End, close};
use super::line::Line;
use super::proofs::Proofs;
use super::reports::{Reported, Reports, reports};
use super::session::{Channels, Settled, Wanted};
use crate::entrance::{Admitted, Entrance};
use crate::gaps::Gaps;
use crate::index::{Index, Opening};
use crate::sessions::Sessions;
use crate::settings::Settings;
use crate::upstream::Vendor;

/// The client's socket.
pub(crate) type Client = WebSocketStream<TokioIo<Upgraded>>;

/// The time between two pings of the client. Some clients send none themselves.
const PING_EVERY: Duration = Duration::from_secs(30);

/// The time without a sign of the client after which its connection counts as lost.
const SILENCE_MAX: Duration = Duration::from_secs(100);

/// The time for the last messages and the close.
const CLOSE_MAX: Duration = Duration::from_secs(5);

/// The request of a client in its handshake.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) admitted: Admitted,
    pub(crate) agent: String,
    pub(crate) platform: Platform,
    /// The address of the vendor, without credentials.
    pub(crate) endpoint: String,
    /// The name that the client gave its session.
    pub(crate) session: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) external_id: Option<String>,
    pub(crate) on_behalf_of: Option<String>,
}

/// The parts that all relays share.
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) entrance: Arc<dyn Entrance>,
    pub(crate) settings: Settings,
    pub(crate) index: Arc<Index>,
    pub(crate) sessions: Sessions,
    pub(crate) gaps: Arc<Gaps>,
    pub(crate) complaints: Complaints,
    /// Cancelled when the remaining connections end.
    pub(crate) closing: CancellationToken,
}

/// The relay of one client.
pub(crate) struct Relay {
    pub(super) shared: Arc<Shared>,
    pub(super) request: Request,
    pub(super) calls: Calls,
    pub(super) to_client: Line,
    pub(super) to_vendor: Line,
    /// The client's messages that wait until the calls of earlier connections are known.
    pub(super) early: Line,
    pub(super) proofs: Proofs,
    pub(super) reports: Reports,
    /// The other end of the reports, until the session is opened.
    pub(super) reported: Option<Reported>,
    /// The session's channels, once the setup is complete.
    pub(super) channels: Option<Channels>,
    /// The session to open.
    pub(super) wanted: Option<Wanted>,
    pub(super) session: Option<SessionId>,
    /// Cancelled when the gateway ends, or another connection continues the session.
    pub(super) cut: CancellationToken,
    /// The model of the setup.
    pub(super) model: String,
    /// The id of the claims of this connection.
    pub(super) claim: String,
    /// The number of messages that the session was handed.
    pub(super) copies: u64,
    /// The number of messages whose copy or words the busy session did not get.
    pub(super) dropped: u64,
    /// The bad messages that the log has told of.
    /// The time at which a call counts as not recorded.
    pub(super) overdue: Option<Pin<Box<Sleep>>>,
    /// The time until which messages of the client wait for the calls of earlier connections.
    pub(super) early_until: Option<Pin<Box<Sleep>>>,
    /// True if the session has stopped.
    pub(super) is_unrecorded: bool,
}

/// A socket, divided for reading and writing. The parts are small; the socket is not.
pub(crate) type Halves<S> = (SplitSink<S, Message>, SplitStream<S>);

impl Relay {
    pub(crate) fn new(shared: Arc<Shared>, request: Request) -> Relay {
        let cut = shared.closing.child_token();
        let (reports, reported) = reports();
        Relay {
            shared,
            request,
            calls: Calls::default(),
            to_client: Line::default(),
            to_vendor: Line::default(),
            early: Line::default(),
            proofs: Proofs::default(),
            reports,
            reported: Some(reported),
            channels: None,
            wanted: None,
            session: None,
            cut,
            model: String::new(),
            claim: Uuid::new_v4().to_string(),
            copies: 0,
            dropped: 0,
            overdue: None,
            early_until: None,
            is_unrecorded: false,
        }
    }

    /// Relays until one side ends.
    ///
    /// The begin and the end are boxed, because a task has the size of its largest part for all of
    /// its life.
    pub(crate) async fn run(
        mut self: Box<Self>,
        mut client: Halves<Client>,
        mut vendor: Halves<Vendor>,
    ) {
        let end = match Box::pin(self.setup(&mut client.1)).await {
            Ok(()) => self.pass(&mut client, &mut vendor).await,
            Err(end) => end,
        };
        Box::pin(self.finish(end, client, vendor)).await;
    }

    async fn pass(&mut self, client: &mut Halves<Client>, vendor: &mut Halves<Vendor>) -> End {
        let mut cut = pin!(self.cut.clone().cancelled_owned());
        let mut pings = interval(PING_EVERY);
        pings.tick().await;
        let mut heard = Instant::now();
        loop {
            tokio::select! {
                written = poll_fn(|it| self.to_client.poll_write(Pin::new(&mut client.0), it)),
                    if self.to_client.has_work() =>
                {
                    if let Err(error) = written {
                        return End::ClientLost(error.to_string());
                    }
                }
                written = poll_fn(|it| self.to_vendor.poll_write(Pin::new(&mut vendor.0), it)),
                    if self.to_vendor.has_work() =>
                {
                    if let Err(error) = written {
                        return End::VendorLost(error.to_string());
                    }
                }
                event = next_event(&mut self.channels, self.session, self.is_unrecorded),
                    if self.to_vendor.has_room_for_own() =>
                {
                    self.of_session(event);
                }
                message = vendor.1.next(), if self.may_read_vendor() => {
                    if let Some(end) = self.take_from_vendor(message) {
                        return end;
                    }
                }
                message = client.1.next(), if self.may_read_client() => {
                    heard = Instant::now();
                    if let Some(end) = self.take_from_client(message) {
                        return end;
                    }
                }
                () = ready(()), if self.may_take_early() => {
                    if let Some(end) = self.early.pop().and_then(|it| self.pass_on(it)) {
                        return end;
                    }
                }
                () = self.reports.progress(), if !self.reports.have_room() => {}
                () = self.proofs.overdue() => self.proofs.give_up(),
                () = overdue(&mut self.overdue) => {
                    self.overdue = None;
                    self.pass_unrecorded();
                }
                () = overdue(&mut self.early_until) => {
                    self.early_until = None;
                    self.calls.waited = true;
                }
                _ = pings.tick() => {
                    if heard.elapsed() > SILENCE_MAX {
                        return End::ClientLost("no sign of the client for 100 s".to_owned());
                    }
                    if !self.shared.entrance.is_valid(&self.request.admitted) {
                        return End::Own(CloseCode::Policy, "the token is not valid any more");
                    }
                    self.to_client.push(Message::Ping(Vec::new().into()));
                }
                () = &mut cut => {
                    return match self.shared.closing.is_cancelled() {
                        true => End::Own(CloseCode::Away, "the gateway is restarting"),
                        false => End::Own(CloseCode::Normal, "another connection continues"),
                    };
                }
            }
        }
    }

    /// Writes the last messages, closes both sides, and tells the session.
    async fn finish(mut self: Box<Self>, end: End, client: Halves<Client>, vendor: Halves<Vendor>) {
        if !matches!(end, End::Own(..)) {
            self.take_last();
        }
        if self.dropped > 0 {
            let dropped = self.dropped;
            // Empty if the session was never opened.
            let session = self.session.map(tracing::field::display);
            tracing::warn!(
                dropped,
                session,
                "messages passed while the session was too busy"
            );
        }
        let lost = end.lost();
        if let Some(channels) = &self.channels {
            let _ = channels.lost.set(lost);
        }
        if let Some(session) = self.session {
            let claim = format!("relay/{}", self.claim);
            let unanswered = self.calls.unanswered();
            self.shared.sessions.leave(session, &claim, unanswered);
        }
        let (to_client, to_vendor) = end.last();
        let (channels, reports) = (self.channels.take(), self.reports);
        let told = async {
            if let Some(channels) = channels {
                channels.end(reports).await;
            }
        };
        let closing = async {
            tokio::join!(
                close(client, &mut self.to_client, to_client),
                close(vendor, &mut self.to_vendor, to_vendor),
                told,
            )
        };
        let _ = timeout(CLOSE_MAX, closing).await;
    }
}

/// An event of the session.
pub(super) enum Event {
    Order(Box<RelayOrder>),
    /// The session is open.
    Opened(SessionId),
    /// The session has stopped, or was never opened.
    Stopped,
    /// The last answer of the client to a call is on record, or cannot be.
    Settled(Settled),
}

async fn next_event(
    channels: &mut Option<Channels>,
    session: Option<SessionId>,
    is_stopped: bool,
) -> Event {
    let Some(channels) = channels else {
        return pending().await;
    };
    tokio::select! {
        biased;
        opened = opened(&mut channels.session), if session.is_none() && !is_stopped => {
            opened.map_or(Event::Stopped, Event::Opened)
        }
        order = channels.orders.recv(), if !is_stopped => {
            order.map_or(Event::Stopped, Event::Order)
        }
        settled = settled(&mut channels.settled) => Event::Settled(settled),
    }
}

/// Waits for the session. `None`: it was not opened.
async fn opened(session: &mut Opening) -> Option<SessionId> {
    let opened = session.wait_for(Option::is_some).await;
    opened.ok().and_then(|it| *it)
}

/// Waits for the next answer that is on record, or cannot be.
async fn settled(settled: &mut mpsc::UnboundedReceiver<Settled>) -> Settled {
    match settled.recv().await {
        Some(settled) => settled,
        // No report is taken any more.
        None => pending().await,
    }
}

async fn overdue(at: &mut Option<Pin<Box<Sleep>>>) {
    match at {
        Some(at) => at.await,
        None => pending().await,
    }
}
