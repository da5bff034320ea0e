//! Answers over HTTP whose body is one JSON message, read exactly as the server wrote it.
//!
//! rmcp would parse such a body into values. So this module posts calls, tool lists and pings
//! itself; every answer has the same meaning as in rmcp.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use futures_util::StreamExt;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use reqwest::Response;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpError,
    StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use sse_stream::SseStream;

use super::http_marking::{Answered, marking};
use crate::answers::lost::Lost;
use crate::answers::unanswered::mark_unknown_session;
use crate::answers::unreadable::{answer_in, answers};

/// A request to send to a server.
pub(super) struct Posted {
    pub(crate) uri: Arc<str>,
    pub(crate) message: ClientJsonRpcMessage,
    pub(crate) session: Option<Arc<str>>,
    pub(crate) token: Option<String>,
    pub(crate) headers: HashMap<HeaderName, HeaderValue>,
}

impl Posted {
    /// Returns the id of the request, if it is one.
    pub(super) fn request(&self) -> Option<&RequestId> {
        match &self.message {
            ClientJsonRpcMessage::Request(it) => Some(&it.id),
            ClientJsonRpcMessage::Response(_)
            | ClientJsonRpcMessage::Notification(_)
            | ClientJsonRpcMessage::Error(_) => None,
        }
    }

    /// True for requests that this module posts itself: their answer may hold the result of a call
    /// or the list of tools. A ping is one, because its rejection is compared with that of a call.
    pub(super) fn is_posted_here(&self) -> bool {
        match &self.message {
            ClientJsonRpcMessage::Request(it) => matches!(
                it.request,
                ClientRequest::CallToolRequest(_)
                    | ClientRequest::GetTaskRequest(_)
                    | ClientRequest::ListToolsRequest(_)
                    | ClientRequest::PingRequest(_)
            ),
            ClientJsonRpcMessage::Response(_)
            | ClientJsonRpcMessage::Notification(_)
            | ClientJsonRpcMessage::Error(_) => false,
        }
    }

    async fn sent(self, client: &reqwest::Client) -> Answered<Response> {
        let body = serde_json::to_vec(&self.message)?;
        let mut request = client
            .post(self.uri.as_ref())
            .header(ACCEPT, "text/event-stream, application/json")
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        if let Some(token) = self.token {
            request = request.bearer_auth(token);
        }
        if let Some(session) = self.session {
            request = request.header(SESSION, session.as_ref());
        }
        Ok(request.send().await?)
    }

    /// Posts the request and reads the answer.
    pub(crate) async fn answered(
        self,
        (client, lost): (&reqwest::Client, &Lost),
        asked: &RequestId,
        limits: StreamableHttpResponseLimits,
    ) -> Answered<StreamableHttpPostResponse> {
        let (in_session, is_call) = (self.session.is_some(), is_call(&self.message));
        let response = self.sent(client).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && in_session {
            return match is_call {
                true => in_unknown_session(failed(response, asked, limits).await),
                false => Err(StreamableHttpError::SessionExpired),
            };
        }
        if !status.is_success() {
            return failed(response, asked, limits).await;
        }
        let session = text_of(&response, SESSION);
        match kind_of(&response) {
            Kind::Json => {
                let body = body_of(response, limits.max_json_response_size).await?;
                let message = answer_in(&body, asked);
                Ok(StreamableHttpPostResponse::Json(message, session))
            }
            Kind::Events => {
                let mut held = Held::default();
                let pieces = response.bytes_stream().map(move |piece| {
                    let piece = piece.map_err(io::Error::other)?;
                    held.take(&piece, limits.max_sse_event_size).map(|()| piece)
                });
                let events = SseStream::from_bytes_stream(pieces).boxed();
                let events = marking(events, lost.clone(), Some(asked.clone()));
                Ok(StreamableHttpPostResponse::Sse(events, session))
            }
            Kind::Other => {
                let kind = text_of(&response, CONTENT_TYPE.as_str());
                Err(StreamableHttpError::UnexpectedContentType(kind))
            }
        }
    }
}

/// True for a call of a tool, the only message whose repetition may do harm.
pub(super) fn is_call(message: &ClientJsonRpcMessage) -> bool {
    match message {
        ClientJsonRpcMessage::Request(it) => {
            matches!(it.request, ClientRequest::CallToolRequest(_))
        }
        ClientJsonRpcMessage::Response(_)
        | ClientJsonRpcMessage::Notification(_)
        | ClientJsonRpcMessage::Error(_) => false,
    }
}

/// Converts the answer 404 to a call. An error with the call's own id answers it, so the call is
/// not repeated.
fn in_unknown_session(
    failed: Answered<StreamableHttpPostResponse>,
) -> Answered<StreamableHttpPostResponse> {
    let Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(mut said), session)) =
        failed
    else {
        return Err(StreamableHttpError::SessionExpired);
    };
    mark_unknown_session(&mut said.error);
    let said = ServerJsonRpcMessage::Error(said);
    Ok(StreamableHttpPostResponse::Json(said, session))
}

/// Converts an unsuccessful answer: the server's JSON error for this request, or else its status.
async fn failed(
    response: Response,
    asked: &RequestId,
    limits: StreamableHttpResponseLimits,
) -> Answered<StreamableHttpPostResponse> {
    let status = response.status();
    let is_forbidden = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if is_forbidden && let Some(challenge) = text_of(&response, WWW_AUTHENTICATE.as_str()) {
        return Err(if status == StatusCode::UNAUTHORIZED {
            StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge))
        } else {
            let scope = InsufficientScopeError::new(challenge, None);
            StreamableHttpError::InsufficientScope(scope)
        });
    }
    let is_busy = status == StatusCode::TOO_MANY_REQUESTS;
    let retry_after = text_of(&response, RETRY_AFTER.as_str());
    let by_status = (is_busy || status.is_server_error())
        .then(|| HttpStatusError::new(status.as_u16(), retry_after));
    let session = text_of(&response, SESSION);
    let said = body_of(response, limits.max_json_response_size).await.ok();
    // An error with the id of the request is its answer, whatever the content type.
    if !is_forbidden
        && !is_busy
        && let Some(body) = &said
        && let Ok(ServerJsonRpcMessage::Error(error)) = serde_json::from_slice(body)
        && error.id.is_some()
    {
        let error = ServerJsonRpcMessage::Error(error);
        if answers(&error, asked) {
            return Ok(StreamableHttpPostResponse::Json(error, session));
        }
    }
    if let Some(by_status) = by_status {
        return Err(by_status.into());
    }
    let words = said.map(|mut it| {
        it.truncate(limits.max_error_response_size);
        String::from_utf8_lossy(&it).into_owned()
    });
    let message = format!("HTTP {status}: {}", words.unwrap_or_default());
    Err(StreamableHttpError::UnexpectedServerResponse(Cow::Owned(
        message,
    )))
}

async fn body_of(response: Response, max_size: usize) -> Answered<Vec<u8>> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        body.extend_from_slice(&piece?);
        if body.len() > max_size {
            return Err(StreamableHttpError::ResponseBodyTooLarge { max_size });
        }
    }
    Ok(body)
}

/// The number of bytes in the incomplete event.
#[derive(Default)]
struct Held(usize);

impl Held {
    fn take(&mut self, piece: &[u8], bytes_max: usize) -> io::Result<()> {
        let end = |ending: &[u8]| piece.windows(ending.len()).rposition(|it| it == ending);
        let last = end(b"\n\n").max(end(b"\n\r\n"));
        self.0 = match last {
            Some(at) => piece.len() - at,
            None => self.0.saturating_add(piece.len()),
        };
        if self.0 > bytes_max {
            let message = format!("an event of more than {bytes_max} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(())
    }
}

/// The form of an answer.
enum Kind {
    Json,
    Events,
    Other,
}

fn kind_of(response: &Response) -> Kind {
    let kind = text_of(response, CONTENT_TYPE.as_str()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        Kind::Json
    } else if kind.eq_ignore_ascii_case("text/event-stream") {
        Kind::Events
    } else {
        Kind::Other
    }
}

fn text_of(response: &Response, header: &str) -> Option<String> {
    let value = response.headers().get(header)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

const SESSION: &str = "Mcp-Session-Id";
