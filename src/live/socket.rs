//! The connection of production: a WebSocket, with or without TLS.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::http::Request;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{
    Connector as TlsConnector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config,
};

use super::connector::{ConnectError, Connection, ConnectionLost, FrameReceiver, FrameSender};
use super::limits::Limits;
use super::secret::Unsaid;

/// Both buffers start small: most frames are, and a service holds many idle sessions.
const BUFFER_BYTES: usize = 8 * 1024;

/// The close code of a message that is too large.
const TOO_LARGE: u16 = 1009;

/// Opens a connection; nothing in `unsaid` will stand in what it reports.
pub(super) async fn open(
    endpoint: String,
    request: Request<()>,
    limits: Limits,
    unsaid: Unsaid,
) -> Result<Connection, ConnectError> {
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(0)
        .max_message_size(Some(limits.message_bytes_max))
        .max_frame_size(Some(limits.frame_bytes_max));
    match connect_async_tls_with_config(request, Some(config), true, Some(TLS.clone())).await {
        Ok((socket, _)) => {
            let (sink, stream) = socket.split();
            Ok(Connection {
                sender: Box::new(Sender {
                    sink,
                    unsaid: unsaid.clone(),
                }),
                receiver: Box::new(Receiver { stream, unsaid }),
            })
        }
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

/// TLS with one crypto provider, chosen here and not by whatever else is linked in. Made once: the roots are many.
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

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

struct Sender {
    sink: SplitSink<Socket, Message>,
    unsaid: Unsaid,
}

struct Receiver {
    stream: SplitStream<Socket>,
    unsaid: Unsaid,
}

#[async_trait]
impl FrameSender for Sender {
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost> {
        let sent = self.sink.send(Message::text(frame)).await;
        sent.map_err(|error| lost(error, &self.unsaid))
    }

    async fn close(&mut self) {
        // The peer may be gone already, which is what we want.
        let _ = self.sink.close().await;
    }
}

#[async_trait]
impl FrameReceiver for Receiver {
    /// Text and binary frames are alike; pings are answered while this is polled.
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        loop {
            match self.stream.next().await {
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
                Some(Err(error)) => return Err(lost(error, &self.unsaid)),
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

/// A binary frame as text. What is no UTF-8 is no JSON either, and goes on record as a frame that could not be read.
fn text_of(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        // What stands for strange bytes may stand in a JSON string, which would say something else than was sent. At the
        // beginning it stands in no JSON.
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
#[expect(clippy::panic, reason = "a test that meets the impossible must stop")]
mod tests {
    use super::*;

    #[test]
    fn tls_is_made_with_the_provider_that_was_chosen() {
        let TlsConnector::Rustls(config) = &*TLS else {
            panic!("without TLS")
        };
        let chosen = rustls::crypto::ring::default_provider();
        let provider = config.crypto_provider();
        assert_eq!(provider.cipher_suites, chosen.cipher_suites);
    }
}
