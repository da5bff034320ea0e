//! The connection to the vendor.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Error};
use tokio_tungstenite::{
    Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config,
};

/// The maximum time for the handshake with the vendor.
const HANDSHAKE_MAX: Duration = Duration::from_secs(15);

/// The maximum size of a message in either direction, in bytes. Both vendors and SDKs stay below.
const MESSAGE_MAX: usize = 16 << 20;

/// The size of a buffer for reading, in bytes. It is held for the whole connection.
const READ_BUFFER: usize = 4 << 10;

/// A connection to the vendor.
pub(crate) type Vendor = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The reason why the vendor cannot be reached.
#[derive(Debug)]
pub(crate) enum Unreached {
    /// The vendor refused the handshake with this status, such as 401.
    Refused(StatusCode),
    /// There was no response in time.
    TimedOut,
    /// The network or the protocol failed.
    Failed(String),
}

/// The limits of both sockets. Frames are written at once.
pub(crate) fn limits() -> WebSocketConfig {
    let mut config = WebSocketConfig::default();
    config.read_buffer_size = READ_BUFFER;
    config.write_buffer_size = 0;
    config.max_message_size = Some(MESSAGE_MAX);
    config.max_frame_size = Some(MESSAGE_MAX);
    config
}

/// Connects to the vendor.
pub(crate) async fn connect(url: &str, headers: HeaderMap) -> Result<Vendor, Unreached> {
    let failed = |error: &dyn std::fmt::Display| Unreached::Failed(error.to_string());
    let mut request = url.into_client_request().map_err(|it| failed(&it))?;
    request.headers_mut().extend(headers);
    let tls = (*TLS).clone().map_err(|it| failed(&it))?;
    let connector = Connector::Rustls(tls);
    let connecting = connect_async_tls_with_config(request, Some(limits()), true, Some(connector));
    match timeout(HANDSHAKE_MAX, connecting).await {
        Err(_) => Err(Unreached::TimedOut),
        Ok(Ok((vendor, _))) => Ok(vendor),
        Ok(Err(Error::Http(response))) => Err(Unreached::Refused(response.status())),
        Ok(Err(error)) => Err(failed(&in_words(&error))),
    }
}

/// An error without the URL, which may have a key.
fn in_words(error: &tungstenite::Error) -> String {
    match error {
        Error::Url(_) => "the URL of the vendor is not one of a WebSocket".to_owned(),
        other => other.to_string(),
    }
}

/// The public certificates.
static TLS: LazyLock<Result<Arc<ClientConfig>, String>> = LazyLock::new(|| {
    let roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let provider = Arc::new(ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?;
    Ok(Arc::new(
        config.with_root_certificates(roots).with_no_client_auth(),
    ))
});
