//! The HTTP exchange with a time stamp authority.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use reqwest::header::CONTENT_TYPE;
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

/// The time that an authority may take.
const TIME_MAX: Duration = Duration::from_secs(30);

/// The maximum length of a response, in bytes. One with its certificates has about 6,000.
const RESPONSE_MAX: usize = 256 << 10;

/// Posts a request and returns the body of the response, or the failure in words.
pub(crate) async fn post(url: &str, request: Vec<u8>) -> Result<Vec<u8>, String> {
    let client = Client::builder()
        .tls_backend_preconfigured(tls()?)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .timeout(TIME_MAX)
        .user_agent(concat!("recount/", env!("CARGO_PKG_VERSION")))
        .build();
    let client = client.map_err(in_words)?;
    let request = client
        .post(url)
        .header(CONTENT_TYPE, "application/timestamp-query")
        .body(request);
    let mut response = request.send().await.map_err(in_words)?;
    if !response.status().is_success() {
        return Err(format!("it answered {}", response.status()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(in_words)? {
        body.extend_from_slice(&chunk);
        if body.len() > RESPONSE_MAX {
            return Err(format!("expected at most {RESPONSE_MAX} bytes, found more"));
        }
    }
    Ok(body)
}

fn tls() -> Result<ClientConfig, String> {
    let roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// The text of an error and of its sources, without the URL, which may have a password.
fn in_words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let (mut text, mut source) = (error.to_string(), std::error::Error::source(&error));
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
