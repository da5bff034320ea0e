//! The connector for production: a WebSocket, with or without TLS.

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

use super::keepalive::{Keepalive, KeepaliveTimer, Tick};
use crate::live::Limits;
use crate::live::{ConnectError, Connection, ConnectionLost, FrameReceiver, FrameSender};
use crate::session::secret::Unsaid;

/// The initial size of both buffers, in bytes. Most frames are small, and a service holds many idle
/// sessions.
const BUFFER_BYTES: usize = 8 * 1024;

/// The close code for a message that is too large.
const TOO_LARGE: u16 = 1009;

/// Opens a connection. Its errors never contain the secrets in `unsaid`.
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
        // The body of the answer may repeat the URL, and with it the key.
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

/// The TLS configuration, with an explicit crypto provider that does not depend on other crates.
/// Created once, because it holds many root certificates.
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
        // The provider supports the default versions. Without them, only unencrypted connections
        // open.
        Err(_) => TlsConnector::Plain,
    }
});

/// The byte stream under a WebSocket.
trait Bytes: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Bytes for S {}

/// The sending half. The writer locks it for writing, and the keepalive for its pings.
type Out<S> = Arc<Mutex<SplitSink<WebSocketStream<S>, Message>>>;

/// Creates a connection over a WebSocket.
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
            keepalive: keepalive.begin(),
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
    keepalive: Option<KeepaliveTimer>,
    unsaid: Unsaid,
}

#[async_trait]
impl<S: Bytes> FrameSender for Sender<S> {
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost> {
        let sent = self.out.lock().await.send(Message::text(frame)).await;
        sent.map_err(|error| lost(error, &self.unsaid))
    }

    async fn close(&mut self) {
        // The peer may have closed the connection already.
        let _ = self.out.lock().await.close().await;
    }
}

impl<S: Bytes> Receiver<S> {
    /// Receives the next frame of any kind and runs the keepalive timer. `None` after the end of
    /// the stream.
    async fn next(&mut self) -> Option<Result<Message, Ended>> {
        loop {
            let tick = async {
                match &mut self.keepalive {
                    Some(keepalive) => keepalive.tick().await,
                    None => pending().await,
                }
            };
            let tick = tokio::select! {
                // A frame that is ready counts as a sign of life, even if it was not read for long.
                biased;
                next = self.stream.next() => {
                    self.keepalive.iter_mut().for_each(KeepaliveTimer::active);
                    return next.map(|it| it.map_err(Ended::Broken));
                }
                tick = tick => tick,
            };
            match tick {
                Tick::Alive => {}
                Tick::Ping => {
                    if !self.send_ping() {
                        self.keepalive
                            .iter_mut()
                            .for_each(KeepaliveTimer::ping_not_sent);
                    }
                }
                Tick::Dead(lost) => return Some(Err(Ended::Silent(lost))),
            }
        }
    }

    /// Sends a ping unless a write is in progress. Returns true if the ping was sent.
    ///
    /// During a write, a peer that does not read shows by itself. Without a ping, its silence means
    /// nothing.
    fn send_ping(&self) -> bool {
        let Ok(mut out) = self.out.try_lock() else {
            return false;
        };
        // A ping that cannot be sent at once goes with the next message. A peer that does not read
        // would not answer it anyway.
        let _ = out.send(Message::Ping(Default::default())).now_or_never();
        true
    }
}

/// The reason why no more frames come.
enum Ended {
    Broken(tungstenite::Error),
    Silent(ConnectionLost),
}

#[async_trait]
impl<S: Bytes> FrameReceiver for Receiver<S> {
    /// Returns text and binary frames alike. Pings are answered while this future is polled.
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

/// Converts a binary frame to text. Invalid UTF-8 cannot be JSON and is recorded as an unreadable
/// frame.
fn text_of(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        // Replacement characters are valid within a JSON string and would change its meaning. At
        // the beginning they make the text invalid JSON.
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
