//! The sender of a sink: a message to bytes, and the bytes to the target.

use std::time::Duration;

use recount::session::Timestamp;

use super::command;
use super::http::Http;
use super::signature;
use super::sink::{Sink, Target};
use crate::message::{Content, Markup, default_text, json};
use crate::values::Detail;

/// The reason why a message was not delivered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Undelivered {
    /// The target refused the message, and would refuse it again.
    #[error("{what}")]
    Refused {
        /// The answer.
        what: String,
    },
    /// The target cannot be reached, or takes no message now.
    #[error("{what}")]
    Unavailable {
        /// The error or the answer.
        what: String,
        /// The time after which the target asks for the next attempt.
        retry_after: Option<Duration>,
    },
    /// The target failed on this message. Another attempt may succeed.
    #[error("{what}")]
    Failed {
        /// The error or the answer.
        what: String,
    },
}

/// The sender of a sink.
pub(crate) struct Sender {
    sink: Sink,
    http: Http,
}

impl Sender {
    /// Prepares a sender.
    ///
    /// # Errors
    /// The error of TLS that cannot be set up, in words.
    pub(crate) fn new(sink: Sink) -> Result<Sender, String> {
        let http = Http::new(sink.timeout)?;
        Ok(Sender { sink, http })
    }

    pub(crate) fn detail(&self) -> Detail {
        self.sink.detail
    }

    /// Sends a message once.
    pub(crate) async fn send(&self, content: &Content, now: Timestamp) -> Result<(), Undelivered> {
        let id = content.id;
        match &self.sink.target {
            Target::Webhook { url, secret } => {
                let body = self.json(content)?;
                let seconds = now.0.div_euclid(1_000_000);
                let headers = signature::headers(secret, id, seconds, &body);
                self.http
                    .post(url.0.clone(), &headers, None, body, now)
                    .await
            }
            Target::Slack { url, markup } => {
                let text = self.text(content, *markup);
                let body = serde_json::json!({"text": text}).to_string();
                self.http
                    .post(url.0.clone(), &[], None, body.into(), now)
                    .await
            }
            Target::Ntfy { url, token } => {
                let Some((base, topic)) = url.split_last() else {
                    let what = "expected a URL with a topic".to_owned();
                    return Err(Undelivered::Refused { what });
                };
                // A repeated message replaces the first one on screens.
                let mut message = serde_json::json!({
                    "topic": topic,
                    "sequence_id": id.to_string(),
                    "message": self.text(content, Markup::Plain),
                });
                if let (Some(link), Some(members)) = (&content.link, message.as_object_mut()) {
                    members.insert("click".to_owned(), link.as_str().into());
                }
                let token = token.as_ref().map(|it| it.0.clone());
                let body = message.to_string().into();
                self.http.post(base, &[], token, body, now).await
            }
            Target::Command { program, arguments } => {
                let body = self.json(content)?;
                let run = command::Run {
                    program,
                    arguments,
                    id,
                    timeout: self.sink.timeout,
                };
                run.with_input(body).await
            }
        }
    }

    fn text(&self, content: &Content, markup: Markup) -> String {
        let (occasion, zone) = (content.occasion, &self.sink.zone);
        let own = self.sink.templates.get(&occasion).cloned();
        let template = own.or_else(|| default_text(occasion, self.sink.detail));
        let text = template.map(|it| it.text(content, zone, markup));
        text.unwrap_or_default()
    }

    fn json(&self, content: &Content) -> Result<Vec<u8>, Undelivered> {
        let text = self.text(content, Markup::Plain);
        json(content, &text).map_err(|error| Undelivered::Failed {
            what: format!("the message cannot be written: {error}"),
        })
    }
}

pub(super) fn unavailable(what: impl Into<String>) -> Undelivered {
    Undelivered::Unavailable {
        what: what.into(),
        retry_after: None,
    }
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender").field("sink", &self.sink).finish()
    }
}
