//! The rest of a body after the response: HTTP/1 reads it before the next request of a connection.
//!
//! Without this, the connection closes behind a response whose request was not read whole, and the
//! client learns that only from its next request, which is lost.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Version, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{Stream, StreamExt};
use tokio::time::{Instant, timeout_at};

use super::body::BodyTime;

/// The maximum rest of a body that is read, in bytes. A longer one costs more than a connection.
const REST_BYTES_MAX: usize = 64 << 10;

/// Reads the rest of the request's body before the response is sent. If it is long, or not there
/// in time, the response has `Connection: close`.
pub(crate) async fn finish_body(
    State(BodyTime(time)): State<BodyTime>,
    request: Request,
    next: Next,
) -> Response {
    // A stream of HTTP/2 ends without its connection.
    if request.body().is_end_stream() || request.version() > Version::HTTP_11 {
        return next.run(request).await;
    }
    let until = Instant::now() + time;
    let must_ask = request.headers().contains_key(header::EXPECT);
    let (parts, body) = request.into_parts();
    let shared = Shared::new(body);
    let body = Body::from_stream(shared.clone());
    let mut response = next.run(Request::from_parts(parts, body)).await;
    let is_read = timeout_at(until, shared.finish(must_ask)).await;
    if !is_read.unwrap_or(false) {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    response
}

/// The body of a request, which its handler and this layer read.
#[derive(Clone)]
struct Shared(Arc<Mutex<Reading>>);

struct Reading {
    body: BodyDataStream,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Nothing was read.
    New,
    Begun,
    Ended,
    Failed,
}

impl Shared {
    fn new(body: Body) -> Shared {
        Shared(Arc::new(Mutex::new(Reading {
            body: body.into_data_stream(),
            progress: Progress::New,
        })))
    }

    fn with<T>(&self, read: impl FnOnce(&mut Reading) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the rest. False if it is too long or broken.
    async fn finish(mut self, must_ask: bool) -> bool {
        let read = |it: &mut Reading| (it.progress, HttpBody::size_hint(&it.body).lower());
        let (progress, least) = self.with(read);
        match progress {
            Progress::Ended => return true,
            Progress::Failed => return false,
            // The client waits for a word before it sends its body, and needs none any more.
            Progress::New if must_ask => return false,
            Progress::New | Progress::Begun => {}
        }
        if least > REST_BYTES_MAX as u64 {
            return false;
        }
        let mut length = 0;
        while let Some(part) = self.next().await {
            let Ok(part) = part else { return false };
            length += part.len();
            if length > REST_BYTES_MAX {
                return false;
            }
        }
        true
    }
}

impl Stream for Shared {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.with(|it| {
            let polled = it.body.poll_next_unpin(cx);
            it.progress = match &polled {
                Poll::Pending | Poll::Ready(Some(Ok(_))) => Progress::Begun,
                Poll::Ready(None) => Progress::Ended,
                Poll::Ready(Some(Err(_))) => Progress::Failed,
            };
            polled
        })
    }
}
