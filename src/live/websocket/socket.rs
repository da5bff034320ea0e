//! The connection of production: a WebSocket, with or without TLS.

use std::future::pending;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::http::Request;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{
    Connector as TlsConnector, WebSocketStream, connect_async_tls_with_config,
};

use super::keepalive::{Beat, Keepalive, Pulse};
use crate::live::Limits;
use crate::live::{ConnectError, Connection, ConnectionLost, FrameReceiver, FrameSender};
use crate::session::secret::Unsaid;

/// Both buffers start small: most frames are, and a service holds many idle sessions.
const BUFFER_BYTES: usize = 8 * 1024;

/// The close code of a message that is too large.
const TOO_LARGE: u16 = 1009;

/// Opens a connection; nothing in `unsaid` will stand in what it reports.
pub(super) async fn open(
    endpoint: String,
    request: Request<()>,
    limits: Limits,
    keepalive: Keepalive,
    unsaid: Unsaid,
) -> Result<Connection, ConnectError> {
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(0)
        .max_message_size(Some(limits.message_bytes_max))
        .max_frame_size(Some(limits.frame_bytes_max));
    match connect_async_tls_with_config(request, Some(config), true, Some(TLS.clone())).await {
        Ok((socket, _)) => Ok(over(socket, keepalive, unsaid)),
        // Its body may repeat the URL, and so the key.
        Err(tungstenite::Error::Http(answer)) => Err(ConnectError::HandshakeRefused {
            endpoint,
            status: answer.status().as_u16(),
            reason: answer
                .status()
                .canonical_reason()
                .unwrap_or_default()
                .to_owned(),
        }),
        Err(error) => Err(ConnectError::Unreachable {
            endpoint,
            reason: unsaid.out_of(error.to_string()),
        }),
    }
}

/// TLS with one crypto provider, chosen here and not by whatever else is linked in. Made once: the
/// roots are many.
static TLS: LazyLock<TlsConnector> = LazyLock::new(|| {
    let roots = rustls::RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map(|builder| builder.with_root_certificates(roots).with_no_client_auth());
    match config {
        Ok(config) => TlsConnector::Rustls(Arc::new(config)),
        // The provider supports the default versions; without them only plain connections open.
        Err(_) => TlsConnector::Plain,
    }
});

/// What carries a WebSocket.
trait Bytes: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Bytes for S {}

/// The way out, which the writer has while it writes, and the pulse when nothing is written.
type Out<S> = Arc<Mutex<SplitSink<WebSocketStream<S>, Message>>>;

/// The connection over a WebSocket.
fn over<S: Bytes>(socket: WebSocketStream<S>, keepalive: Keepalive, unsaid: Unsaid) -> Connection {
    let (sink, stream) = socket.split();
    let out = Arc::new(Mutex::new(sink));
    Connection {
        sender: Box::new(Sender {
            out: out.clone(),
            unsaid: unsaid.clone(),
        }),
        receiver: Box::new(Receiver {
            stream,
            out,
            pulse: keepalive.begin(),
            unsaid,
        }),
    }
}

struct Sender<S> {
    out: Out<S>,
    unsaid: Unsaid,
}

struct Receiver<S> {
    stream: SplitStream<WebSocketStream<S>>,
    out: Out<S>,
    pulse: Option<Pulse>,
    unsaid: Unsaid,
}

#[async_trait]
impl<S: Bytes> FrameSender for Sender<S> {
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost> {
        let sent = self.out.lock().await.send(Message::text(frame)).await;
        sent.map_err(|error| lost(error, &self.unsaid))
    }

    async fn close(&mut self) {
        // The peer may be gone already, which is what we want.
        let _ = self.out.lock().await.close().await;
    }
}

impl<S: Bytes> Receiver<S> {
    /// The next frame of whatever kind, while the pulse is taken; none once the stream has ended.
    async fn next(&mut self) -> Option<Result<Message, Ended>> {
        loop {
            let beat = async {
                match &mut self.pulse {
                    Some(pulse) => pulse.beat().await,
                    None => pending().await,
                }
            };
            let beat = tokio::select! {
                // What lies ready counts, however long nobody has looked.
                biased;
                next = self.stream.next() => {
                    self.pulse.iter_mut().for_each(Pulse::heard);
                    return next.map(|it| it.map_err(Ended::Broken));
                }
                beat = beat => beat,
            };
            match beat {
                Beat::Alive => {}
                Beat::Ask => {
                    if !self.ask() {
                        self.pulse.iter_mut().for_each(Pulse::not_asked);
                    }
                }
                Beat::Dead(lost) => return Some(Err(Ended::Silent(lost))),
            }
        }
    }

    /// Sends a ping, unless something is being written: then a peer that takes nothing shows by
    /// itself. Whether it was asked: the silence of a peer that was not says nothing.
    fn ask(&self) -> bool {
        let Ok(mut out) = self.out.try_lock() else {
            return false;
        };
        // What does not go at once goes with the next message, and a peer that takes nothing has no
        // answer anyway.
        let _ = out.send(Message::Ping(Default::default())).now_or_never();
        true
    }
}

/// Why nothing comes any more.
enum Ended {
    Broken(tungstenite::Error),
    Silent(ConnectionLost),
}

#[async_trait]
impl<S: Bytes> FrameReceiver for Receiver<S> {
    /// Text and binary frames are alike; pings are answered while this is polled.
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        loop {
            match self.next().await {
                Some(Ok(Message::Text(text))) => return Ok(text.to_string()),
                Some(Ok(Message::Binary(bytes))) => return Ok(text_of(&bytes)),
                Some(Ok(Message::Close(frame))) => {
                    let (code, reason) = match frame {
                        Some(frame) => {
                            let reason = self.unsaid.out_of(frame.reason.as_str());
                            (Some(u16::from(frame.code)), reason)
                        }
                        None => (None, "closed without a reason".to_owned()),
                    };
                    return Err(ConnectionLost { code, reason });
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Err(Ended::Broken(error))) => return Err(lost(error, &self.unsaid)),
                Some(Err(Ended::Silent(lost))) => return Err(lost),
                None => {
                    return Err(ConnectionLost {
                        code: None,
                        reason: "the stream ended".to_owned(),
                    });
                }
            }
        }
    }
}

/// A binary frame as text. What is no UTF-8 is no JSON either, and goes on record as a frame that
/// could not be read.
fn text_of(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        // What stands for strange bytes may stand in a JSON string, which would say something else
        // than was sent. At the beginning it stands in no JSON.
        Err(_) => {
            let strange = char::REPLACEMENT_CHARACTER;
            format!("{strange}{}", String::from_utf8_lossy(bytes))
        }
    }
}

fn lost(error: tungstenite::Error, unsaid: &Unsaid) -> ConnectionLost {
    let (code, reason) = match error {
        tungstenite::Error::Capacity(CapacityError::MessageTooLong { size, max_size }) => {
            let reason = format!("a message of {size} bytes, the limit is {max_size}");
            (Some(TOO_LARGE), reason)
        }
        error => (None, unsaid.out_of(error.to_string())),
    };
    ConnectionLost { code, reason }
}

#[cfg(test)]
#[path = "socket_tests.rs"]
mod tests;
