//! The connection of production: a WebSocket, with or without TLS.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderValue, Request};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{
    Connector as TlsConnector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config,
};

use super::connector::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};

/// The host of the Google AI service.
const GOOGLE_AI: &str = "wss://generativelanguage.googleapis.com/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent";

/// Both buffers start small: most frames are, and a service holds many idle sessions.
const BUFFER_BYTES: usize = 8 * 1024;

/// The largest message that is read.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A Gemini Live endpoint.
///
/// ```
/// use recount::live::Endpoint;
/// let simulator = Endpoint::url("ws://127.0.0.1:8787");
/// let service = Endpoint::google_ai("an API key");
/// assert!(!format!("{service:?}").contains("API key"));
/// # let _ = simulator;
/// ```
#[derive(Clone)]
pub struct Endpoint {
    url: String,
    key: Option<Secret>,
}

/// Shows itself to nobody.
#[derive(Clone)]
struct Secret(String);

impl Endpoint {
    /// A gateway or simulator at `url`, `ws://` or `wss://`.
    pub fn url(url: impl Into<String>) -> Endpoint {
        Endpoint {
            url: url.into(),
            key: None,
        }
    }

    /// Google AI with an API key, which travels in a header and stands in no log.
    pub fn google_ai(key: impl Into<String>) -> Endpoint {
        Endpoint {
            url: GOOGLE_AI.to_owned(),
            key: Some(Secret(key.into())),
        }
    }

    fn request(&self) -> Result<Request<()>, ConnectError> {
        let unreachable = |reason: String| ConnectError::Unreachable {
            endpoint: self.endpoint(),
            reason,
        };
        let mut request = self
            .url
            .as_str()
            .into_client_request()
            .map_err(|error| unreachable(error.to_string()))?;
        if let Some(Secret(key)) = &self.key {
            let refused =
                |_| unreachable("the API key has characters that no header can carry".to_owned());
            let mut value = HeaderValue::from_str(key).map_err(refused)?;
            value.set_sensitive(true);
            request.headers_mut().insert("x-goog-api-key", value);
        }
        Ok(request)
    }
}

impl From<&str> for Endpoint {
    fn from(url: &str) -> Endpoint {
        Endpoint::url(url)
    }
}

impl From<String> for Endpoint {
    fn from(url: String) -> Endpoint {
        Endpoint::url(url)
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("url", &self.endpoint())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Connector for Endpoint {
    /// Scheme, host and port: a path or query may hold a token.
    fn endpoint(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("", &self.url));
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        format!("{scheme}://{host}")
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        let config = WebSocketConfig::default()
            .read_buffer_size(BUFFER_BYTES)
            .write_buffer_size(0)
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX));
        let opened =
            connect_async_tls_with_config(self.request()?, Some(config), true, Some(tls())).await;
        let (socket, _) = opened.map_err(|error| ConnectError::Unreachable {
            endpoint: self.endpoint(),
            reason: error.to_string(),
        })?;
        let (sink, stream) = socket.split();
        Ok(Connection {
            sender: Box::new(Sender(sink)),
            receiver: Box::new(Receiver(stream)),
        })
    }
}

/// TLS with one crypto provider, chosen here and not by whatever else is linked in.
fn tls() -> TlsConnector {
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
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

struct Sender(SplitSink<Socket, Message>);

struct Receiver(SplitStream<Socket>);

#[async_trait]
impl FrameSender for Sender {
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost> {
        self.0.send(Message::text(frame)).await.map_err(lost)
    }

    async fn close(&mut self) {
        // The peer may be gone already, which is what we want.
        let _ = self.0.close().await;
    }
}

#[async_trait]
impl FrameReceiver for Receiver {
    /// Text and binary frames are alike; pings are answered while this is polled.
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => return Ok(text.to_string()),
                // What is no UTF-8 is no JSON either; it goes on record as a frame that could not be read.
                Some(Ok(Message::Binary(bytes))) => {
                    return Ok(String::from_utf8_lossy(&bytes).into_owned());
                }
                Some(Ok(Message::Close(frame))) => {
                    let (code, reason) = match frame {
                        Some(frame) => (Some(u16::from(frame.code)), frame.reason.to_string()),
                        None => (None, "closed without a reason".to_owned()),
                    };
                    return Err(ConnectionLost { code, reason });
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Err(error)) => return Err(lost(error)),
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

fn lost(error: tungstenite::Error) -> ConnectionLost {
    ConnectionLost {
        code: None,
        reason: error.to_string(),
    }
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_a_url_stand_nowhere() {
        let endpoint = Endpoint::url("wss://user:pass@example.org:8443/ws/x?key=hidden#y");
        assert_eq!(endpoint.endpoint(), "wss://example.org:8443");
        assert!(!format!("{endpoint:?}").contains("hidden"));
    }

    #[test]
    fn an_api_key_travels_in_a_header_only() {
        let endpoint = Endpoint::google_ai("the-key");
        let request = endpoint.request().unwrap();
        assert_eq!(request.headers()["x-goog-api-key"], "the-key");
        assert!(!request.uri().to_string().contains("the-key"));
        assert!(!format!("{endpoint:?} {request:?}").contains("the-key"));
    }
}
