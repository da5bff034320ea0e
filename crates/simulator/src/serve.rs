//! One socket: passes the client's messages to the player, and the player's actions to the client.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Message, Utf8Bytes};

use recount_wire::ClientMessage;

use super::player::{Action, Player, Wait};
use super::recording::Frame;
use super::server::Shared;
use super::step::RawFrame;
use super::transcript::{ConnectionId, Side};

/// The close code of a connection that ended without a close frame.
const ABNORMAL: u16 = 1006;

/// The size of the read buffer, in bytes. Frames are small, and a load test has a thousand
/// connections.
const BUFFER_BYTES: usize = 4 * 1024;

/// The time allowed to notice that a client has left an older connection.
const OVERLAP: Duration = Duration::from_secs(1);

type Socket = WebSocketStream<TcpStream>;

/// Shakes hands with one client, with any path and key, and serves it.
#[expect(
    clippy::result_large_err,
    reason = "the library wants this type of a handshake callback"
)]
pub(super) async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    // The protocol exchanges small frames in turn.
    let _ = stream.set_nodelay(true);
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(0);
    let mut connection = None;
    let inspect = |request: &Request, response: Response| {
        let has_key = brings_key(request);
        let id = shared.play(|player| player.connect_with(has_key));
        shared.record(|| Frame::handshake(id, request));
        connection = Some(id);
        Ok::<_, ErrorResponse>(response)
    };
    let accepted =
        tokio_tungstenite::accept_hdr_async_with_config(stream, inspect, Some(config)).await;
    let Some(connection) = connection else {
        return;
    };
    let open = shared.open_socket();
    let Ok(socket) = accepted else {
        drop(open);
        shared.play(|player| player.disconnect(connection, ABNORMAL, ""));
        return;
    };
    let (code, reason) = converse(socket, connection, &shared).await;
    drop(open);
    shared.play(|player| player.disconnect(connection, code, &reason));
}

/// True if the request has a key or a token, in a header or in the query.
fn brings_key(request: &Request) -> bool {
    let headers = request.headers();
    let query = request.uri().query().unwrap_or_default();
    headers.contains_key("x-goog-api-key")
        || headers.contains_key("authorization")
        || query
            .split('&')
            .any(|pair| pair.starts_with("key=") || pair.starts_with("access_token="))
}

/// Serves until either side ends the connection. Returns the client's close code and reason.
async fn converse(socket: Socket, connection: ConnectionId, shared: &Shared) -> (u16, String) {
    let (sink, stream) = socket.split();
    let (orders, ordered) = unbounded_channel();
    let writing = write(sink, ordered);
    let reading = Reader {
        stream,
        orders,
        connection,
        shared,
        reads: true,
    }
    .read();
    tokio::pin!(writing, reading);
    tokio::select! {
        ended = &mut reading => return ended,
        left = &mut writing => match left {
            Left::Dropped => return (ABNORMAL, String::new()),
            Left::Ended => {}
        },
    }
    // Dropping a socket with unread input resets the connection, and the client may lose the
    // reason.
    reading.await
}

/// The end of the sending half.
enum Left {
    /// The connection must end at once, without a close frame.
    Dropped,
    /// The service sends no more frames and waits for the client's close.
    Ended,
}

async fn write(
    mut sink: SplitSink<Socket, Message>,
    mut ordered: UnboundedReceiver<Order>,
) -> Left {
    while let Some(order) = ordered.recv().await {
        let sent = match order {
            Order::Send(message) => sink.send(message).await,
            Order::Drop => return Left::Dropped,
        };
        if sent.is_err() {
            break;
        }
    }
    Left::Ended
}

/// An instruction to the sending half.
enum Order {
    Send(Message),
    Drop,
}

/// The receiving half, and the timer of the script.
struct Reader<'a> {
    stream: SplitStream<Socket>,
    orders: UnboundedSender<Order>,
    connection: ConnectionId,
    shared: &'a Shared,
    reads: bool,
}

impl Reader<'_> {
    async fn read(mut self) -> (u16, String) {
        let mut orders = self.shared.orders();
        let mut armed: Option<(Wait, Instant)> = None;
        let mut done = self.play(|player, connection| player.due(connection));
        while !done {
            armed = self.arm(armed);
            let alarm = armed.map(|(_, at)| at);
            done = tokio::select! {
                biased;
                () = sleep_until(alarm.unwrap_or_else(Instant::now)), if alarm.is_some() => {
                    let over = armed.take();
                    self.play(|player, connection| match over {
                        Some((wait, _)) => player.wake(connection, wait),
                        None => Vec::new(),
                    })
                }
                _ = orders.changed() => self.play(|player, connection| player.due(connection)),
                received = self.stream.next(), if self.reads => match received {
                    Some(Ok(message)) => match self.take(message).await {
                        Ok(done) => done,
                        Err(left) => return left,
                    },
                    Some(Err(_)) | None => return (ABNORMAL, String::new()),
                },
            };
        }
        // The sending half ends when all senders of orders are dropped.
        drop(self.orders);
        while let Some(Ok(_)) = self.stream.next().await {}
        (ABNORMAL, String::new())
    }

    /// Passes one message to the player. Returns true if the service has closed the connection, or
    /// the client's close code and reason.
    async fn take(&mut self, message: Message) -> Result<bool, (u16, String)> {
        match message {
            Message::Text(text) => Ok(self.take_text("text", text.as_str()).await),
            Message::Binary(bytes) => match std::str::from_utf8(&bytes) {
                Ok(text) => Ok(self.take_text("binary", text).await),
                Err(_) => Ok(self.play(|player, connection| {
                    player.receive_unreadable(connection, "expected text, found other bytes")
                })),
            },
            Message::Close(frame) => {
                // Reading further sends the answering close frame.
                while let Some(Ok(_)) = self.stream.next().await {}
                Err(frame.map_or((1005, String::new()), |frame| {
                    (frame.code.into(), frame.reason.as_str().to_owned())
                }))
            }
            // The library answers pings while it is read.
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => Ok(false),
        }
    }

    async fn take_text(&mut self, opcode: &'static str, text: &str) -> bool {
        let connection = self.connection;
        self.shared
            .record(|| Frame::new(connection, Side::Client, opcode, text));
        let Ok(message) = ClientMessage::decode(text) else {
            return self.play(|player, connection| player.receive_text(connection, text));
        };
        // The close of an older connection may not have been noticed yet.
        let met = |player: &Player| player.meets_another(self.connection, &message);
        if self.shared.player_says(met) {
            let mut changes = self.shared.subscribe();
            let gone =
                async { while self.shared.player_says(met) && changes.changed().await.is_ok() {} };
            let _ = timeout(OVERLAP, gone).await;
        }
        self.play(|player, connection| player.receive(connection, &message))
    }

    /// Keeps the timer of a wait that continues, and starts one for another wait.
    fn arm(&self, armed: Option<(Wait, Instant)>) -> Option<(Wait, Instant)> {
        let wait = self
            .shared
            .player_says(|player| player.wait(self.connection))?;
        match armed {
            Some((current, at)) if current == wait => Some((current, at)),
            Some(_) | None => Some((wait, Instant::now() + wait.duration)),
        }
    }

    /// Runs the player and passes on its actions. Returns true if they closed the connection.
    fn play(&mut self, turn: impl FnOnce(&mut Player, ConnectionId) -> Vec<Action>) -> bool {
        let connection = self.connection;
        let actions = self.shared.play(|player| turn(player, connection));
        let mut is_closed = false;
        for action in actions {
            let order = match action {
                Action::Send(message) => Order::Send(self.framed(message.encode())),
                Action::SendRaw(frame) => Order::Send(self.raw(frame)),
                Action::Read(reads) => {
                    self.reads = reads;
                    continue;
                }
                Action::Close { code: ABNORMAL, .. } => {
                    is_closed = true;
                    Order::Drop
                }
                Action::Close { code, reason } => {
                    is_closed = true;
                    Order::Send(Message::Close(Some(CloseFrame {
                        code: code.into(),
                        reason: reason.into(),
                    })))
                }
            };
            // If the sending half has ended, the client is gone, and the next read returns that.
            let _ = self.orders.send(order);
        }
        is_closed
    }
}

impl Reader<'_> {
    /// Creates a frame for a message: binary, unless the script requires text.
    fn framed(&self, message: String) -> Message {
        let opcode = if self.shared.sends_text {
            "text"
        } else {
            "binary"
        };
        self.shared
            .record(|| Frame::new(self.connection, Side::Service, opcode, &message));
        if self.shared.sends_text {
            Message::text(message)
        } else {
            Message::binary(message.into_bytes())
        }
    }

    /// Creates a frame with the script's bytes. Bytes that are not text are recorded by their
    /// length, as for received frames.
    fn raw(&self, frame: RawFrame) -> Message {
        let message = String::from_utf8_lossy(&frame.bytes).into_owned();
        let bytes = Bytes::from(frame.bytes);
        let (opcode, sent) = match Utf8Bytes::try_from(bytes.clone()) {
            Ok(text) if frame.is_text => ("text", Message::Text(text)),
            Ok(_) | Err(_) => ("binary", Message::Binary(bytes)),
        };
        self.shared
            .record(|| Frame::new(self.connection, Side::Service, opcode, &message));
        sent
    }
}
