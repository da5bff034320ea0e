//! Requests to the targets that speak HTTP.

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use recount::session::Timestamp;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

use super::sender::{Undelivered, unavailable};

/// The maximum wait that a target may ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);

/// A client of one target.
pub(super) struct Http(Client);

impl Http {
    /// Prepares requests with a maximum time.
    ///
    /// # Errors
    /// The error of TLS that cannot be set up, in words.
    pub(super) fn new(timeout: Duration) -> Result<Http, String> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls()?)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(timeout)
            .user_agent(concat!("recount/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Http(client.map_err(in_words)?))
    }

    /// Posts JSON once.
    pub(super) async fn post(
        &self,
        url: Url,
        headers: &[(&'static str, String)],
        authorization: Option<HeaderValue>,
        body: Vec<u8>,
        now: Timestamp,
    ) -> Result<(), Undelivered> {
        let mut request = self.0.post(url).header(CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        if let Some(value) = authorization {
            request = request.header(AUTHORIZATION, value);
        }
        let response = request.body(body).send().await;
        let response = response.map_err(|error| unavailable(in_words(error)))?;
        outcome(&response, now)
    }
}

/// The meaning of a status.
fn outcome(response: &Response, now: Timestamp) -> Result<(), Undelivered> {
    let status = response.status();
    let what = status.to_string();
    match status {
        status if status.is_success() => Ok(()),
        // The last three may be those of a proxy or of a token that an operator mends. They are
        // about the target, so no message is given up for them at once.
        StatusCode::REQUEST_TIMEOUT
        | StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT
        | StatusCode::UNAUTHORIZED
        | StatusCode::FORBIDDEN
        | StatusCode::NOT_FOUND => Err(Undelivered::Unavailable {
            what,
            retry_after: retry_after(response, now),
        }),
        status if status.is_server_error() => Err(Undelivered::Failed { what }),
        // Redirects are not followed: the target of a sink is what its operator has checked.
        _ => Err(Undelivered::Refused { what }),
    }
}

/// The wait that a response asks for.
fn retry_after(response: &Response, now: Timestamp) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    wait_of(text.trim(), now)
}

/// The wait in a header: seconds, or a date.
fn wait_of(text: &str, now: Timestamp) -> Option<Duration> {
    let wait = match text.parse::<f64>() {
        // A number that no duration has is a very long wait, or one that is over.
        Ok(seconds) if seconds >= 0.0 => {
            Duration::try_from_secs_f64(seconds).unwrap_or(RETRY_AFTER_MAX)
        }
        Ok(_) => return None,
        Err(_) => {
            let date = DateTime::parse_from_rfc2822(text).ok()?;
            let us = date.timestamp_micros().saturating_sub(now.0);
            Duration::from_micros(u64::try_from(us).unwrap_or_default())
        }
    };
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

/// The text of an error and of its sources, without the URL, which may be a secret.
fn in_words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let (mut text, mut source) = (error.to_string(), std::error::Error::source(&error));
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_is_an_hour_at_most() {
        let now = Timestamp(1_800_000_000_000_000);
        for (text, expected) in [
            ("30", Some(30)),
            ("3601", Some(3_600)),
            ("99999999999999999999999", Some(3_600)),
            ("1e400", Some(3_600)),
            ("Fri, 15 Jan 2027 08:00:20 GMT", Some(20)),
            ("Fri, 15 Jan 2027 07:00:00 GMT", Some(0)),
            ("Sat, 16 Jan 2027 08:00:00 GMT", Some(3_600)),
            ("-1", None),
            ("NaN", None),
            ("soon", None),
        ] {
            let expected = expected.map(Duration::from_secs);
            assert_eq!(wait_of(text, now), expected, "{text}");
        }
    }
}
