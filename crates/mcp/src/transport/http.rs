//! The transport to a server over streamable HTTP.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rustls::{ClientConfig, RootCertStore};

use super::http_client::HttpClient;
use super::http_marking::Marking;
use crate::answers::lost::Lost;
use crate::settings::server::McpServer;

/// Creates the transport to a server at a URL, with its headers.
pub(crate) fn transport(
    server: &McpServer,
    url: &str,
    lost: Lost,
) -> Result<StreamableHttpClientTransport<HttpClient>, String> {
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls()?)
        .default_headers(headers(server)?)
        .redirect(same_origin())
        .build()
        .map_err(|error| format!("cannot make an HTTP client: {error}"))?;
    // A new session may reach another server, whose tools must be checked before a call.
    let config =
        StreamableHttpClientTransportConfig::with_uri(url).reinit_on_expired_session(false);
    Ok(StreamableHttpClientTransport::with_client(
        HttpClient(Marking::of(client, lost)),
        config,
    ))
}

/// Checks the URL and the headers.
pub(crate) fn check(server: &McpServer, url: &str) -> Result<(), String> {
    let expected = "expected a URL such as https://host/mcp";
    let url: Url = url
        .parse()
        .map_err(|error| format!("{expected}: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(expected.to_owned());
    }
    headers(server).map(drop)
}

fn headers(server: &McpServer) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in &server.headers {
        let key = HeaderName::try_from(name)
            .map_err(|_| format!("expected the name of a header, found {name:?}"))?;
        let mut value = HeaderValue::try_from(value.reveal()).map_err(|_| {
            format!("the value of the header {name:?} has letters that none may have")
        })?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

/// Returns the TLS settings of the live connection: cryptography of ring, Mozilla's root
/// certificates.
fn tls() -> Result<ClientConfig, String> {
    let roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("cannot set up TLS: {error}"))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// Follows redirects only to the same origin, because headers hold secrets for that host.
fn same_origin() -> reqwest::redirect::Policy {
    reqwest::redirect::Policy::custom(|attempt| {
        let first = attempt.previous().first().map(|url| url.origin());
        if first == Some(attempt.url().origin()) && attempt.previous().len() <= REDIRECTS_MAX {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

const REDIRECTS_MAX: usize = 3;
