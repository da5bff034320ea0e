//! The body of a streamed response, from a source of messages.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::message::{HEARTBEAT, Message, json};
use crate::access::Proof;
use crate::driving::Place;
use crate::problems::Problem;
use crate::service::Service;

/// The time after which a silent stream sends a heartbeat. Proxies close silent connections after
/// 30 to 60 s.
const HEARTBEAT_AFTER: Duration = Duration::from_secs(15);

/// The life of a stream. The client then connects again, and its credentials are checked again.
const LIFE: Duration = Duration::from_secs(15 * 60);

/// A source of messages. A dropped `next` loses no message.
pub(crate) trait Source: Send + 'static {
    /// Returns the next message, and waits for it. `None` at the end, with the reason in `end`.
    fn next(&mut self) -> impl Future<Output = Result<Option<Message>, Problem>> + Send;

    /// The reason of the end.
    fn end(&self) -> &'static str;
}

/// A stream to one client.
struct Stream<S> {
    source: S,
    service: Service,
    /// The proof of the client, which every part needs.
    proof: Proof,
    /// The logouts since the stream began. One of them may be that of the client.
    logouts: watch::Receiver<u64>,
    expires: Instant,
    is_over: bool,
    _place: Place,
}

/// Starts a stream of the source's messages. All places taken are a problem.
///
/// The last message has the event `end`, with the reason as data: `closed`, `done`, `draining`, or
/// `expired` if the client should connect again. A stream whose client is not admitted any more
/// ends with a problem before its next part.
pub(crate) fn start(
    service: &Service,
    proof: Proof,
    source: impl Source,
) -> Result<Response, Problem> {
    let stream = Stream {
        source,
        service: service.clone(),
        logouts: proof.logouts(),
        proof,
        expires: Instant::now() + LIFE,
        is_over: false,
        _place: service.streams.take("streams")?,
    };
    let body = Body::from_stream(unfold(stream, Stream::step));
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/event-stream"),
        ),
        // Some proxies collect a response before they pass it on.
        (
            HeaderName::from_static("x-accel-buffering"),
            HeaderValue::from_static("no"),
        ),
    ];
    Ok((headers, body).into_response())
}

impl<S: Source> Stream<S> {
    /// Returns the next part of the body. `None` at its end.
    async fn step(mut self) -> Option<(Result<Bytes, Infallible>, Stream<S>)> {
        if self.is_over {
            return None;
        }
        let heartbeat = Instant::now() + HEARTBEAT_AFTER;
        let bytes = loop {
            let next = tokio::select! {
                biased;
                () = self.service.drained() => break self.over("draining"),
                () = sleep_until(self.expires) => break self.over("expired"),
                // The sender lives as long as the proof.
                _ = self.logouts.changed() => match self.proof.check_again().await {
                    Ok(()) => continue,
                    Err(problem) => break self.failed(&problem),
                },
                next = self.source.next() => next,
                () = sleep_until(heartbeat) => break Bytes::from_static(HEARTBEAT),
            };
            break match next {
                Ok(Some(message)) => message.bytes(),
                Ok(None) => self.over(self.source.end()),
                Err(problem) => self.failed(&problem),
            };
        };
        // After the wait for the part: the credentials may have been revoked meanwhile.
        let bytes = match self.proof.check_part().await {
            Ok(()) => bytes,
            Err(problem) => self.failed(&problem),
        };
        Some((Ok(bytes), self))
    }

    fn over(&mut self, reason: &'static str) -> Bytes {
        self.is_over = true;
        let data = format!(r#"{{"reason":"{reason}"}}"#);
        let (event, id) = ("end", None);
        Message { event, id, data }.bytes()
    }

    fn failed(&mut self, problem: &Problem) -> Bytes {
        self.is_over = true;
        let (event, id) = ("problem", None);
        // The members of a problem are texts and numbers, so they can always be written.
        let data = json(problem).unwrap_or_else(|_| "{}".to_owned());
        Message { event, id, data }.bytes()
    }
}
