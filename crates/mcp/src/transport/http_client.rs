//! The HTTP client of a connection, which detects a lost session by the server's error text and a
//! ping.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, PingRequest, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::{Error as SseError, Sse};

use super::http_marking::Marking;
use super::json_answers::is_call;
use crate::answers::unanswered;

type Answer<T> = Result<T, StreamableHttpError<reqwest::Error>>;
/// The answer to a message.
type PostAnswer = Answer<StreamableHttpPostResponse>;

/// The library's client with a better detection of lost sessions.
///
/// A server that does not know a session answers 404, which the library detects, or 400 with a
/// text. In both cases the call was not carried out, and a new session may succeed. But such a text
/// may also come from a tool that has run, and be about a session of its own. So a ping decides.
#[derive(Clone)]
pub(crate) struct HttpClient(pub(super) Marking);

impl HttpClient {
    /// Returns the answer to a call after a ping in its session.
    ///
    /// The session is lost if the server rejects the ping in the same way. After another rejection
    /// it is lost, too, but the call may have been carried out before.
    async fn checked(&self, posted: PostAnswer, call: &Rejection, ping: Ping) -> PostAnswer {
        let pinged = tokio::time::timeout(PING_WITHIN, ping.sent(&self.0)).await;
        let (is_same, is_lost) = match &pinged {
            Ok(Err(StreamableHttpError::SessionExpired)) => (false, true),
            Ok(pinged) => {
                let ping = rejection(pinged);
                (ping.as_ref() == Some(call), ping.is_some())
            }
            Err(_) => (false, false),
        };
        match posted {
            // The server has read the call, and answers it.
            Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(mut said), id))
                if call.is_answer =>
            {
                if is_lost {
                    unanswered::mark_unknown_session(&mut said.error);
                }
                let said = ServerJsonRpcMessage::Error(said);
                Ok(StreamableHttpPostResponse::Json(said, id))
            }
            _ if is_same => Err(StreamableHttpError::SessionExpired),
            // The status lets the next call connect anew; the outcome of this one stays unknown.
            Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(said), _))
                if is_lost =>
            {
                let words = format!("HTTP 400, by its words: {}", said.error.message);
                Err(StreamableHttpError::UnexpectedServerResponse(words.into()))
            }
            other => for_a_request(other),
        }
    }
}

/// A ping in the session of a call.
struct Ping {
    uri: Arc<str>,
    session: Arc<str>,
    token: Option<String>,
    headers: HashMap<HeaderName, HeaderValue>,
    limits: StreamableHttpResponseLimits,
}

impl Ping {
    async fn sent(self, client: &Marking) -> PostAnswer {
        let request = ClientRequest::PingRequest(PingRequest::default());
        let id = RequestId::String(PING_ID.into());
        let message = ClientJsonRpcMessage::request(request, id);
        let Ping {
            uri,
            session,
            token,
            headers,
            limits,
        } = self;
        let session = Some(session);
        client
            .post_message_with_response_limits(uri, message, session, token, headers, limits)
            .await
    }
}

/// An answer that may mean a lost session.
#[derive(PartialEq)]
struct Rejection {
    words: String,
    /// True if it has the id of the request, so the server has read the request.
    is_answer: bool,
}

/// Returns the rejection in an answer: HTTP 400, or an error of the protocol, with words about a
/// session.
fn rejection(posted: &PostAnswer) -> Option<Rejection> {
    let (words, is_answer) = match posted {
        Err(StreamableHttpError::UnexpectedServerResponse(words))
            if words.starts_with("HTTP 400") =>
        {
            (words.to_string(), false)
        }
        Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(said), _))
            if said.id.is_none() || SESSION_CODES.contains(&said.error.code.0) =>
        {
            let words = format!("{}: {}", said.error.code.0, said.error.message);
            (words, said.id.is_some())
        }
        _ => return None,
    };
    let is_of_session = words.to_lowercase().contains("session");
    is_of_session.then_some(Rejection { words, is_answer })
}

/// Replaces an error without the id of a request, for which the library would drop it.
fn for_a_request(posted: PostAnswer) -> PostAnswer {
    match posted {
        Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(said), _))
            if said.id.is_none() =>
        {
            let message = format!("an error for no request: {}", said.error.message);
            Err(StreamableHttpError::UnexpectedServerResponse(
                message.into(),
            ))
        }
        other => other,
    }
}

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
        let session = session_id.clone().filter(|_| is_call(&message));
        let ping = session.map(|session| Ping {
            uri: uri.clone(),
            session,
            token: auth_header.clone(),
            headers: custom_headers.clone(),
            limits,
        });
        let has_session = session_id.is_some();
        let posted = self.0.post_message_with_response_limits(
            uri,
            message,
            session_id,
            auth_header,
            custom_headers,
            limits,
        );
        let posted = posted.await;
        let rejection = rejection(&posted).filter(|_| has_session);
        match (ping, rejection) {
            (Some(ping), Some(rejection)) => self.checked(posted, &rejection, ping).await,
            // The message is no call, so a wrong guess costs no more than another session.
            (None, Some(_)) => Err(StreamableHttpError::SessionExpired),
            (_, None) => for_a_request(posted),
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

/// The codes with which servers reject a session. A tool's own errors may have them, too.
const SESSION_CODES: [i32; 2] = [-32000, -32001];
/// The id of a ping, which the library never uses: its ids are numbers.
const PING_ID: &str = "recount/ping";
/// The time limit of a ping. After it, the session counts as alive, and the call is not repeated.
const PING_WITHIN: Duration = Duration::from_secs(5);
