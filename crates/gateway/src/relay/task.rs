//! The task of a relay: reads and writes both sides, and decides nothing about a call.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use recount::engine::{Engine, RelayOrder};
use recount::live::{ConnectionLost, Platform};
use recount::session::SessionId;
use serde_json::Value;
use tokio::sync::mpsc::OwnedPermit;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, Sleep, interval, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::calls::Calls;
use super::line::Line;
use super::messages::like;
use super::session::{Channels, Report, Wanted};
use crate::entrance::{Admitted, Entrance};
use crate::frames::client::text_of;
use crate::frames::declaring::with_tools;
use crate::frames::setup::{Declared, Setup};
use crate::gaps::Gaps;
use crate::index::Index;
use crate::places::PlaceKey;
use crate::sessions::Sessions;
use crate::settings::Settings;
use crate::upstream::Vendor;

/// The client's socket.
pub(crate) type Client = WebSocketStream<TokioIo<Upgraded>>;

/// The maximum time for the client's setup.
const SETUP_MAX: Duration = Duration::from_secs(30);

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
    /// The number of copies that the busy session did not get.
    pub(super) dropped: u64,
    /// Fires when other tools of the client count.
    pub(super) declaring: Option<oneshot::Receiver<()>>,
    /// The reports of one message that the busy session has no room for.
    pub(super) unreported: VecDeque<Report>,
    /// The time at which a call counts as not recorded.
    pub(super) overdue: Option<Pin<Box<Sleep>>>,
    /// True if the session has stopped.
    pub(super) is_unrecorded: bool,
}

/// The end of a relay.
pub(super) enum End {
    /// The client ended it, with its close frame.
    Client(Option<CloseFrame>),
    /// The vendor ended it, with its close frame.
    Vendor(Option<CloseFrame>),
    /// The connection of the client broke.
    ClientLost(String),
    /// The connection of the vendor broke.
    VendorLost(String),
    /// The gateway ends it.
    Own(CloseCode, &'static str),
}

/// A socket, divided for reading and writing. The parts are small; the socket is not.
pub(crate) type Halves<S> = (SplitSink<S, Message>, SplitStream<S>);

impl Relay {
    pub(crate) fn new(shared: Arc<Shared>, request: Request) -> Relay {
        let cut = shared.closing.child_token();
        Relay {
            shared,
            request,
            calls: Calls::default(),
            to_client: Line::default(),
            to_vendor: Line::default(),
            channels: None,
            wanted: None,
            session: None,
            cut,
            model: String::new(),
            claim: Uuid::new_v4().to_string(),
            copies: 0,
            dropped: 0,
            declaring: None,
            unreported: VecDeque::new(),
            overdue: None,
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
        Box::pin(self.finish(end, client.0, vendor.0)).await;
    }

    /// Reads the setup and passes it on.
    async fn setup(&mut self, client: &mut SplitStream<Client>) -> Result<(), End> {
        let first = async {
            loop {
                match client.next().await {
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    Some(Ok(Message::Close(frame))) => return Err(End::Client(frame)),
                    Some(Ok(message)) => return Ok(message),
                    Some(Err(error)) => return Err(End::ClientLost(error.to_string())),
                    None => return Err(End::Client(None)),
                }
            }
        };
        let late = End::Own(CloseCode::Policy, "expected a setup within 30 s");
        let message = timeout(SETUP_MAX, first).await.unwrap_or(Err(late))?;
        let unfit = |problem: &dyn std::fmt::Display| {
            tracing::warn!(%problem, "a client sent no readable setup");
            End::Own(CloseCode::Invalid, "expected a readable setup first")
        };
        let bytes = message.clone().into_data();
        let text = text_of(&bytes).map_err(|it| unfit(&it))?;
        let setup = Setup::read(text).map_err(|it| unfit(&it))?;
        let (admitted, request) = (&self.request.admitted, &self.request);
        if !admitted.may_use(&request.agent, &request.labels, Some(&setup.model)) {
            let refused = "the token does not allow this agent or model";
            return Err(End::Own(CloseCode::Policy, refused));
        }
        self.may_declare(&setup.declared)?;
        let hosted = self.hosted(&setup.model, &setup.declared);
        let names = hosted.iter().filter_map(|it| it["name"].as_str());
        self.calls.hosted = names.map(str::to_owned).collect();
        self.calls.dry_run = self.shared.settings.dry_run;
        let with_hosted = with_tools(text, &hosted).map_err(|it| unfit(&it))?;
        self.to_vendor.push(match hosted.is_empty() {
            true => message,
            false => like(&message, with_hosted),
        });
        self.model.clone_from(&setup.model);
        self.wanted = Some(self.wanted(setup));
        Ok(())
    }

    /// Checks that the client may run calls of all tools that it declares.
    pub(super) fn may_declare(&self, declared: &[Declared]) -> Result<(), End> {
        let (admitted, request) = (&self.request.admitted, &self.request);
        let may_run = |tool: &str| admitted.may_run(&request.agent, &request.labels, tool);
        let Some(refused) = declared.iter().find(|it| !may_run(&it.name)) else {
            return Ok(());
        };
        let tool = refused.name.as_str();
        tracing::warn!(
            tool,
            "a client declared a tool that its token does not allow"
        );
        let reason = "the token does not allow a declared tool";
        Err(End::Own(CloseCode::Policy, reason))
    }

    /// The declarations of the agent's own tools, but for those whose name the client uses.
    pub(super) fn hosted(&self, model: &str, declared: &[Declared]) -> Vec<Value> {
        let (engine, request) = (&self.shared.engine, &self.request);
        let entries = engine.declared_tools(&request.agent, model, request.platform);
        let entries = entries.unwrap_or_default();
        let own: BTreeSet<&str> = declared.iter().map(|it| it.name.as_str()).collect();
        let functions = entries.into_iter().filter_map(|mut entry| {
            let functions = entry.get_mut("functionDeclarations").map(Value::take)?;
            match functions {
                Value::Array(functions) => Some(functions),
                _ => None,
            }
        });
        let is_free = |it: &Value| it["name"].as_str().is_some_and(|it| !own.contains(it));
        functions.flatten().filter(is_free).collect()
    }

    fn wanted(&self, setup: Setup) -> Wanted {
        let request = &self.request;
        let mut places = Vec::new();
        if let Some(name) = &request.session {
            places.push(PlaceKey::of_name(&request.admitted.scope(), name));
        }
        if let Some(handle) = &setup.handle {
            let credential = request.admitted.fingerprint();
            places.push(PlaceKey::of_handle(credential, handle));
        }
        Wanted {
            agent: request.agent.clone(),
            admitted: request.admitted.clone(),
            places,
            labels: request.labels.clone(),
            external_id: request
                .external_id
                .clone()
                .or_else(|| request.session.clone()),
            on_behalf_of: request.on_behalf_of.clone(),
            model: setup.model,
            endpoint: request.endpoint.clone(),
            platform: request.platform,
            tools: setup.declared,
            resumed: setup.handle,
            claim: self.claim.clone(),
        }
    }

    async fn pass(&mut self, client: &mut Halves<Client>, vendor: &mut Halves<Vendor>) -> End {
        let mut cut = pin!(self.cut.clone().cancelled_owned());
        let mut pings = interval(PING_EVERY);
        pings.tick().await;
        let mut heard = Instant::now();
        loop {
            let reports = self.unreported.front().and(self.channels.as_ref());
            let reports = reports.map(|it| it.reports.clone());
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
                event = next_event(&mut self.channels, self.session), if !self.is_unrecorded => {
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
                room = room(reports), if
                    !self.unreported.is_empty() =>
                {
                    self.report_next(room);
                }
                () = declared(&mut self.declaring) => self.declaring = None,
                () = overdue(&mut self.overdue) => {
                    self.overdue = None;
                    self.pass_unrecorded();
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
    async fn finish(mut self: Box<Self>, end: End, client: Sink<Client>, vendor: Sink<Vendor>) {
        let lost = end.lost();
        if let Some(channels) = &self.channels {
            let _ = channels.lost.set(lost);
        }
        if let Some(session) = self.session {
            let claim = format!("relay/{}", self.claim);
            let unanswered = self.calls.unanswered();
            self.shared
                .sessions
                .leave(session, &self.cut, &claim, unanswered);
        }
        let (to_client, to_vendor) = end.frames();
        let channels = self.channels.take();
        let unreported = std::mem::take(&mut self.unreported);
        let (sessions, known) = (&self.shared.sessions, self.session);
        let told = async {
            if let Some(channels) = channels
                && let Some(session) = channels.end(unreported).await
                && known.is_none()
            {
                // It was opened while its client left.
                sessions.remember(session);
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

impl End {
    /// The end as the session records it.
    fn lost(&self) -> ConnectionLost {
        let of = |code: Option<u16>, reason: String| ConnectionLost { code, reason };
        let of_frame = |who: &str, frame: &Option<CloseFrame>| {
            let code = frame.as_ref().map(|it| it.code.into());
            of(code, format!("the {who} closed the connection"))
        };
        match self {
            End::Client(frame) => of_frame("client", frame),
            End::Vendor(frame) => of_frame("vendor", frame),
            End::ClientLost(problem) => of(None, format!("the client was lost: {problem}")),
            End::VendorLost(problem) => of(None, format!("the vendor was lost: {problem}")),
            End::Own(code, reason) => of(Some((*code).into()), (*reason).to_owned()),
        }
    }

    /// The close frames for the client and for the vendor. `None` drops the connection, as the
    /// other side was dropped.
    fn frames(self) -> (Close, Close) {
        let own = |code, reason: &'static str| {
            Some(CloseFrame {
                code,
                reason: reason.into(),
            })
        };
        match self {
            End::Client(frame) => (Some(frame.clone()), Some(frame)),
            End::Vendor(frame) => (Some(frame.clone()), Some(frame)),
            End::ClientLost(_) => (None, Some(own(CloseCode::Away, "the client is gone"))),
            End::VendorLost(_) => (None, None),
            End::Own(code, reason) => (Some(own(code, reason)), Some(own(CloseCode::Normal, ""))),
        }
    }
}

/// A close frame, perhaps without a code. `None`: the connection is dropped.
type Close = Option<Option<CloseFrame>>;

type Sink<S> = SplitSink<S, Message>;

async fn close<S>(mut sink: SplitSink<S, Message>, line: &mut Line, frame: Close)
where
    S: futures_util::Sink<Message, Error = Error>,
{
    let Some(frame) = frame else {
        return;
    };
    let last = poll_fn(|it| line.poll_write(Pin::new(&mut sink), it)).await;
    if last.is_ok() {
        let _ = sink.send(Message::Close(frame)).await;
    }
}

/// An event of the session.
pub(super) enum Event {
    Order(Box<RelayOrder>),
    /// The session is open.
    Opened(SessionId),
    /// The session has stopped, or was never opened.
    Stopped,
}

async fn next_event(channels: &mut Option<Channels>, session: Option<SessionId>) -> Event {
    let Some(channels) = channels else {
        return pending().await;
    };
    tokio::select! {
        biased;
        opened = channels.session.wait_for(Option::is_some), if session.is_none() => {
            let opened = opened.ok().and_then(|it| *it);
            opened.map_or(Event::Stopped, Event::Opened)
        }
        order = channels.orders.recv() => order.map_or(Event::Stopped, Event::Order),
    }
}

/// Waits until the session has room for a report. `None`: it has stopped.
async fn room(reports: Option<mpsc::Sender<Box<Report>>>) -> Option<OwnedPermit<Box<Report>>> {
    reports?.reserve_owned().await.ok()
}

async fn declared(declaring: &mut Option<oneshot::Receiver<()>>) {
    match declaring {
        // The sender is gone if the session has stopped.
        Some(counts) => drop(counts.await),
        None => pending().await,
    }
}

async fn overdue(at: &mut Option<Pin<Box<Sleep>>>) {
    match at {
        Some(at) => at.await,
        None => pending().await,
    }
}
