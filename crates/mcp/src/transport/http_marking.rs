//! An HTTP client whose results stay exactly as the server wrote them.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use http::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, RequestId};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::{Error as SseError, Sse};

use super::json_answers::Posted;
use crate::answers::lost::Lost;
use crate::answers::unreadable::{error_for, read};

pub(super) type Answered<T> = Result<T, StreamableHttpError<reqwest::Error>>;

/// A client that marks the structured content of every result.
#[derive(Clone)]
pub(super) struct Marking {
    client: reqwest::Client,
    lost: Lost,
}

impl Marking {
    pub(crate) fn of(client: reqwest::Client, lost: Lost) -> Marking {
        Marking { client, lost }
    }
}

/// Marks structured content in events, and makes every event readable for the library. The response
/// stream of a POST answers the request with the id `asked`.
pub(super) fn marking(
    events: BoxedSseResponse,
    lost: Lost,
    asked: Option<RequestId>,
) -> BoxedSseResponse {
    let events = events.flat_map(move |event| {
        stream::iter(match event {
            Ok(event) => marked_event(event, &lost, asked.as_ref()),
            Err(error) => vec![ended(error, asked.as_ref())],
        })
    });
    events.boxed()
}

/// Returns the replacements of one event, because a batch is several messages.
fn marked_event(event: Sse, lost: &Lost, asked: Option<&RequestId>) -> Vec<Result<Sse, SseError>> {
    // The library reads only these events as messages.
    let is_message = matches!(event.event.as_deref(), None | Some("" | "message"));
    let data = event.data.as_deref().filter(|_| is_message);
    let messages = data.and_then(|it| lost.handle(read(it.as_bytes(), asked), it.len()));
    let Some(messages) = messages else {
        return vec![Ok(event)];
    };
    let mut events: Vec<_> = messages
        .into_iter()
        .map(|message| Ok(Sse::default().data(message)))
        .collect();
    // Keeps the event id, with which the stream can be resumed, even without a message.
    events.insert(
        0,
        Ok(Sse {
            data: None,
            ..event
        }),
    );
    events
}

/// Replaces an unreadable event by an error for the request. Otherwise the library would request
/// the same event again and again.
fn ended(error: SseError, asked: Option<&RequestId>) -> Result<Sse, SseError> {
    let is_unreadable = match &error {
        SseError::Body(cause) => cause
            .downcast_ref::<io::Error>()
            .is_some_and(|it| it.kind() == io::ErrorKind::InvalidData),
        SseError::InvalidLine
        | SseError::DuplicatedEventLine
        | SseError::DuplicatedIdLine
        | SseError::DuplicatedRetry
        | SseError::Utf8Parse(_)
        | SseError::IntParse(_) => true,
    };
    match asked.filter(|_| is_unreadable) {
        Some(id) => {
            let what = format!("an event that cannot be read: {error}");
            Ok(Sse::default().data(error_for(id, &what)))
        }
        None => Err(error),
    }
}

impl StreamableHttpClient for Marking {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answered<StreamableHttpPostResponse> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, token, headers, limits)
            .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        limits: StreamableHttpResponseLimits,
    ) -> Answered<StreamableHttpPostResponse> {
        let posted = Posted {
            uri,
            message,
            session,
            token,
            headers,
        };
        let asked = posted.request().cloned();
        if let Some(asked) = &asked
            && posted.is_posted_here()
        {
            return posted
                .answered((&self.client, &self.lost), asked, limits)
                .await;
        }
        let Posted {
            uri,
            message,
            session,
            token,
            headers,
        } = posted;
        let client = &self.client;
        let posted =
            client.post_message_with_response_limits(uri, message, session, token, headers, limits);
        Ok(match posted.await? {
            StreamableHttpPostResponse::Sse(events, session) => {
                StreamableHttpPostResponse::Sse(marking(events, self.lost.clone(), asked), session)
            }
            other => other,
        })
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answered<()> {
        self.client
            .delete_session(uri, session, token, headers)
            .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answered<BoxedSseResponse> {
        let events = self
            .client
            .get_stream(uri, session, last_event, token, headers);
        events.await.map(|it| marking(it, self.lost.clone(), None))
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        bytes_max: usize,
    ) -> Answered<BoxedSseResponse> {
        let events = self.client.get_stream_with_max_sse_event_size(
            uri, session, last_event, token, headers, bytes_max,
        );
        events.await.map(|it| marking(it, self.lost.clone(), None))
    }
}
