//! The connection to the vendor.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
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
    /// The vendor refused the handshake, for example with 401.
    Refused(Box<Refusal>),
    /// There was no response in time.
    TimedOut,
    /// The network or the protocol failed.
    Failed(String),
}

/// The vendor's answer to a handshake that it refuses.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// The time after which the client may try again, as the vendor wrote it.
    pub(crate) retry_after: Option<HeaderValue>,
    /// The body, with its type. `None` if it did not arrive with the head in one read, which
    /// tungstenite limits to 4 KiB: the connection is dropped with the error.
    pub(crate) body: Option<(HeaderValue, Vec<u8>)>,
}

impl Refusal {
    pub(crate) fn of_status(status: StatusCode) -> Refusal {
        Refusal {
            status,
            retry_after: None,
            body: None,
        }
    }

    fn of(response: &Response<Option<Vec<u8>>>) -> Refusal {
        let header = |name| response.headers().get(name).cloned();
        let kind = header(header::CONTENT_TYPE);
        Refusal {
            retry_after: header(header::RETRY_AFTER),
            body: kind.zip(whole_body(response)),
            ..Refusal::of_status(response.status())
        }
    }
}

/// Returns the body of a response, if all of it was read with the head.
fn whole_body(response: &Response<Option<Vec<u8>>>) -> Option<Vec<u8>> {
    let length = response.headers().get(header::CONTENT_LENGTH)?;
    let length: usize = length.to_str().ok()?.parse().ok()?;
    let body = response.body().as_deref()?;
    let body = body.get(..length)?;
    Some(body.to_vec()).filter(|it| !it.is_empty())
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
        Ok(Err(Error::Http(response))) => Err(Unreached::Refused(Box::new(Refusal::of(&response)))),
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
