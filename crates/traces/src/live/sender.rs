//! Requests to the collector.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use serde::Deserialize;

use super::settings::{Endpoint, Headers};
use crate::otlp::{ExportRequest, Source};
use crate::span::Span;

/// The maximum time of a request.
const REQUEST_MAX: Duration = Duration::from_secs(10);

/// The maximum wait that a collector may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(300);

/// The maximum size of a collector's response, in bytes.
const RESPONSE_BYTES_MAX: usize = 64 << 10;

/// Sends requests to one collector.
pub(super) struct Sender {
    client: Client,
    endpoint: Endpoint,
    headers: Headers,
    source: Source,
}

/// The reason why spans were not delivered.
#[derive(Debug)]
pub(super) enum Undelivered {
    /// The body is too large.
    TooLarge,
    /// The collector rejected the spans, and would reject them again.
    Rejected(StatusCode),
    /// The collector cannot be reached, or takes nothing now. It may say when to try again.
    Unavailable(String, Option<Duration>),
}

/// The response of a collector that took a request.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Taken {
    partial_success: Option<PartialSuccess>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PartialSuccess {
    /// A number, or a string with it.
    rejected_spans: serde_json::Value,
}

impl Sender {
    /// Prepares requests.
    ///
    /// # Errors
    /// The error of TLS that cannot be set up, in words.
    pub(super) fn new(
        endpoint: Endpoint,
        headers: Headers,
        source: Source,
    ) -> Result<Sender, String> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls()?)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(REQUEST_MAX)
            .build();
        Ok(Sender {
            client: client.map_err(in_words)?,
            endpoint,
            headers,
            source,
        })
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends spans in one request.
    pub(super) async fn send(&self, spans: &[Span]) -> Result<(), Undelivered> {
        let unavailable = |what| Undelivered::Unavailable(what, None);
        let body = serde_json::to_vec(&ExportRequest::of(&self.source, spans));
        let body = body.map_err(|error| unavailable(error.to_string()))?;
        let request = self
            .client
            .post(self.endpoint.0.clone())
            .headers(self.headers.0.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        let response = request
            .send()
            .await
            .map_err(|it| unavailable(in_words(it)))?;
        match response.status() {
            status if status.is_success() => {
                self.note_rejected(response, spans.len()).await;
                Ok(())
            }
            StatusCode::PAYLOAD_TOO_LARGE => Err(Undelivered::TooLarge),
            status @ (StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY) => {
                Err(Undelivered::Rejected(status))
            }
            // A wrong token or path is mended by an operator, so the spans are kept until then.
            status => {
                let wait = retry_after(&response);
                Err(Undelivered::Unavailable(status.to_string(), wait))
            }
        }
    }

    /// Logs the number of spans that the collector dropped.
    async fn note_rejected(&self, mut response: Response, sent: usize) {
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            body.extend_from_slice(&chunk);
            if body.len() > RESPONSE_BYTES_MAX {
                return;
            }
        }
        let taken: Taken = serde_json::from_slice(&body).unwrap_or_default();
        let rejected = taken.partial_success.map(|it| it.rejected_spans);
        let rejected = rejected.and_then(|it| match it.as_str() {
            Some(text) => text.parse().ok(),
            None => it.as_u64(),
        });
        if let Some(rejected) = rejected.filter(|it| *it > 0) {
            tracing::warn!(rejected, sent, "the collector dropped spans");
        }
    }
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    let seconds: f64 = seconds.trim().parse().ok().filter(|it| *it >= 0.0)?;
    // A number that no duration has is a very long wait.
    let wait = Duration::try_from_secs_f64(seconds).unwrap_or(RETRY_AFTER_MAX);
    Some(wait.min(RETRY_AFTER_MAX))
}

/// The TLS of the connections to models.
fn tls() -> Result<ClientConfig, String> {
    let roots: RootCertStore = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// The text of an error and of its sources, without the URL.
fn in_words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let (mut text, mut source) = (error.to_string(), std::error::Error::source(&error));
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
