//! The HTTP client of a connection, which detects a lost session by the server's error text.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::{Error as SseError, Sse};

use super::http_marking::Marking;

type Answer<T> = Result<T, StreamableHttpError<reqwest::Error>>;

/// The library's client with a better detection of lost sessions.
///
/// A server that does not know a session answers 404, which the library detects, or 400 with a
/// text. In both cases the call was not carried out, and a new session may succeed.
#[derive(Clone)]
pub(crate) struct HttpClient(pub(super) Marking);

impl StreamableHttpClient for HttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answer<StreamableHttpPostResponse> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(
            uri,
            message,
            session_id,
            auth_header,
            custom_headers,
            limits,
        )
        .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        limits: StreamableHttpResponseLimits,
    ) -> Answer<StreamableHttpPostResponse> {
        let has_session = session_id.is_some();
        let posted = self.0.post_message_with_response_limits(
            uri,
            message,
            session_id,
            auth_header,
            custom_headers,
            limits,
        );
        let is_lost = |words: &str| has_session && words.to_lowercase().contains("session");
        match posted.await {
            Err(StreamableHttpError::UnexpectedServerResponse(words))
                if words.starts_with("HTTP 400") && is_lost(&words) =>
            {
                Err(StreamableHttpError::SessionExpired)
            }
            Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(said), id)) => {
                let words = &said.error.message;
                // The errors of servers before they read the request.
                let is_of_door = said.id.is_none() || SESSION_CODES.contains(&said.error.code.0);
                if is_of_door && is_lost(words) {
                    return Err(StreamableHttpError::SessionExpired);
                }
                if said.id.is_none() {
                    let message = format!("an error for no request: {words}");
                    return Err(StreamableHttpError::UnexpectedServerResponse(
                        message.into(),
                    ));
                }
                let said = ServerJsonRpcMessage::Error(said);
                Ok(StreamableHttpPostResponse::Json(said, id))
            }
            other => other,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answer<()> {
        self.0
            .delete_session(uri, session_id, auth_header, custom_headers)
            .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answer<BoxStream<'static, Result<Sse, SseError>>> {
        self.0
            .get_stream(uri, session_id, last_event_id, auth_header, custom_headers)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Answer<BoxStream<'static, Result<Sse, SseError>>> {
        self.0
            .get_stream_with_max_sse_event_size(
                uri,
                session_id,
                last_event_id,
                auth_header,
                custom_headers,
                max_sse_event_size,
            )
            .await
    }
}

/// The codes with which servers reject a session; a tool's own errors have others.
const SESSION_CODES: [i32; 2] = [-32000, -32001];
