//! The way to a server over HTTP, on which results stay as the server wrote them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::StreamExt;
use http::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};

use super::json_answers::Posted;
use crate::answers::raw_results::marked;

pub(super) type Answered<T> = Result<T, StreamableHttpError<reqwest::Error>>;

/// A client that marks the structured content of every result.
#[derive(Clone)]
pub(super) struct Marking {
    client: reqwest::Client,
    /// Set once the server has answered a request with one JSON message in place of events.
    answers_in_json: Arc<AtomicBool>,
}

impl Marking {
    pub(crate) fn of(client: reqwest::Client) -> Marking {
        Marking {
            client,
            answers_in_json: Arc::default(),
        }
    }
}

/// Events whose structured content is marked.
pub(super) fn marking(events: BoxedSseResponse) -> BoxedSseResponse {
    let events = events.map(|event| {
        event.map(|mut event| {
            if let Some(marked) = event.data.as_deref().and_then(marked) {
                event.data = Some(marked);
            }
            event
        })
    });
    events.boxed()
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
        if self.answers_in_json.load(Ordering::Relaxed) && posted.may_bring_result() {
            return posted.answered(&self.client, limits).await;
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
                StreamableHttpPostResponse::Sse(marking(events), session)
            }
            StreamableHttpPostResponse::Json(message, session) => {
                self.answers_in_json.store(true, Ordering::Relaxed);
                StreamableHttpPostResponse::Json(message, session)
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
        events.await.map(marking)
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
        events.await.map(marking)
    }
}
