//! A Gemini model, called over HTTPS.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::{Client, Response, StatusCode, Url};
use rustls::{ClientConfig, RootCertStore};

use super::wire::{self, Failure};
use crate::models::llm::{BaseLlm, LlmError, LlmReply, LlmRequest};

/// The address of the Gemini API.
const BASE: &str = "https://generativelanguage.googleapis.com";

/// The maximum time of a turn, from the request to the last byte of the reply.
const TURN_MAX: Duration = Duration::from_secs(300);

/// The maximum size of a reply, in bytes; a larger one could not be recorded.
const REPLY_BYTES_MAX: usize = 4 << 20;

/// A Gemini model, called by `generateContent` over HTTPS. Needs the feature `gemini-http`.
///
/// The key is sent in a header to that service only, and is never shown. After too many requests
/// (429), a failure of the service (5xx) or of the network, the engine repeats the request. Any
/// other error ends the run of the agent with the service's own text.
///
/// ```
/// use recount_tool::{GeminiLlm, LlmAgent};
///
/// let model = GeminiLlm::new("gemini-2.5-flash", "the-key")?;
/// assert!(!format!("{model:?}").contains("the-key"));
/// let verifier = LlmAgent::new("verifier", model).instruction("Verify the caller.");
/// # let _ = verifier;
/// # Ok::<(), recount_tool::LlmError>(())
/// ```
#[derive(Clone)]
pub struct GeminiLlm {
    model: String,
    key: String,
    base: Url,
    client: Client,
    temperature: Option<f32>,
}

impl GeminiLlm {
    /// Creates a client for a model, such as `gemini-2.5-flash`, with an API key.
    ///
    /// # Errors
    /// [`LlmError::Refused`] if the model's name or the key cannot be sent, or TLS cannot be set
    /// up.
    pub fn new(model: impl Into<String>, key: impl Into<String>) -> Result<GeminiLlm, LlmError> {
        let (model, key) = (model.into(), key.into());
        let model = model.strip_prefix("models/").unwrap_or(&model).to_owned();
        let fits = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if model.is_empty() || !model.chars().all(fits) {
            let message =
                format!("expected the name of a model such as gemini-2.5-flash, found {model:?}");
            return Err(LlmError::Refused(message));
        }
        if key.is_empty() || !key.chars().all(|c| c.is_ascii_graphic()) {
            // The message must not quote the key.
            let message = "expected an API key of visible ASCII characters, found something else";
            return Err(LlmError::Refused(message.to_owned()));
        }
        let built = Client::builder()
            .tls_backend_preconfigured(tls()?)
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TURN_MAX)
            .build();
        Ok(GeminiLlm {
            model,
            key,
            base: address(BASE)?,
            client: built.map_err(|error| LlmError::Refused(in_words(error)))?,
            temperature: None,
        })
    }

    /// Sets another address than Google's, such as a proxy: `https://` with a host, or `http://`
    /// with a loopback address.
    ///
    /// # Errors
    /// [`LlmError::Refused`] for any other address, because the key would be sent in clear text.
    ///
    /// ```
    /// use recount_tool::GeminiLlm;
    /// let model = GeminiLlm::new("gemini-2.5-flash", "key")?;
    /// assert!(model.clone().at("https://proxy.example.com/gemini").is_ok());
    /// assert!(model.at("http://proxy.example.com").is_err());
    /// # Ok::<(), recount_tool::LlmError>(())
    /// ```
    pub fn at(mut self, base: &str) -> Result<GeminiLlm, LlmError> {
        self.base = address(base)?;
        Ok(self)
    }

    /// Sets the sampling temperature, from 0 to 2. Defaults to the model's own.
    #[must_use]
    pub fn temperature(mut self, temperature: f32) -> GeminiLlm {
        self.temperature = Some(temperature);
        self
    }

    async fn ask(&self, body: String) -> Result<LlmReply, LlmError> {
        let base = self.base.as_str().trim_end_matches('/');
        let url = format!("{base}/v1beta/models/{}:generateContent", self.model);
        let request = self
            .client
            .post(url)
            .header("x-goog-api-key", &self.key)
            .header("content-type", "application/json")
            .body(body);
        let unreached = |error| LlmError::Unavailable(in_words(error));
        let response = request.send().await.map_err(unreached)?;
        let status = response.status();
        let text = whole(response).await?;
        if status.is_success() {
            return wire::reply(&text);
        }
        let words = wire::failure(&text).map_or_else(String::new, |it| format!(": {it}"));
        let message = format!("the model {} answered {status}{words}", self.model);
        match may_pass(status) {
            true => Err(LlmError::Unavailable(message)),
            false => Err(LlmError::Refused(message)),
        }
    }

    /// Removes the key from an error text, in case the service repeats its input.
    fn without_key(&self, error: LlmError) -> LlmError {
        let without = |message: String| message.replace(&self.key, "[hidden]");
        match error {
            LlmError::Unavailable(message) => LlmError::Unavailable(without(message)),
            LlmError::Refused(message) => LlmError::Refused(without(message)),
        }
    }
}

#[async_trait]
impl BaseLlm for GeminiLlm {
    fn model(&self) -> &str {
        &self.model
    }

    async fn generate(&self, request: LlmRequest) -> Result<LlmReply, LlmError> {
        let body = wire::request(&request, self.temperature);
        let asked = self.ask(body).await;
        asked.map_err(|error| self.without_key(error))
    }
}

impl fmt::Debug for GeminiLlm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GeminiLlm")
            .field("model", &self.model)
            .field("base", &self.base.as_str())
            .finish_non_exhaustive()
    }
}

fn may_pass(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::REQUEST_TIMEOUT
        || status.is_server_error()
}

async fn whole(mut response: Response) -> Result<String, LlmError> {
    let mut body = Vec::new();
    let unreached = |error| LlmError::Unavailable(in_words(error));
    while let Some(chunk) = response.chunk().await.map_err(unreached)? {
        if body.len() + chunk.len() > REPLY_BYTES_MAX {
            let message =
                format!("expected a reply of at most {REPLY_BYTES_MAX} bytes, found more");
            return Err(LlmError::Refused(message));
        }
        body.extend_from_slice(&chunk);
    }
    let text = String::from_utf8(body);
    text.map_err(|_| LlmError::Unavailable(Failure::NotJson.to_string()))
}

/// Formats a transport error without the address.
fn in_words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut message = format!("the model cannot be reached: {error}");
    let mut cause = std::error::Error::source(&error);
    while let Some(why) = cause {
        message.push_str(&format!(": {why}"));
        cause = why.source();
    }
    message
}

fn address(base: &str) -> Result<Url, LlmError> {
    let url = Url::parse(base);
    let fits = |url: &Url| {
        let loopback = match url.host_str() {
            Some("localhost" | "127.0.0.1" | "[::1]") => true,
            Some(_) | None => false,
        };
        url.scheme() == "https" || (url.scheme() == "http" && loopback)
    };
    match url {
        Ok(url) if fits(&url) => Ok(url),
        Ok(_) | Err(_) => {
            let message = format!(
                "expected https:// and a host, or http:// and a loopback address, found {base:?}"
            );
            Err(LlmError::Refused(message))
        }
    }
}

/// Returns the TLS settings of the live connection: cryptography of ring, Mozilla's root
/// certificates.
fn tls() -> Result<ClientConfig, LlmError> {
    let roots = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let unfit = |error| LlmError::Refused(format!("TLS cannot be set up: {error}"));
    let config = config.map_err(unfit)?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
