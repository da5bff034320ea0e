//! The classification of unanswered requests: may they have taken effect, and is the connection
//! still usable?

use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::{ErrorData, ServiceError};
use serde_json::Value;

use super::raw_results::mark;

type HttpError = StreamableHttpError<reqwest::Error>;

/// Returns the HTTP error; `None` for other transports.
fn over_http(error: &ServiceError) -> Option<&HttpError> {
    match error {
        ServiceError::TransportSend(error) => error.error.downcast_ref(),
        _ => None,
    }
}

/// True if the request was not carried out: it did not reach the server, or was rejected before
/// processing.
pub(crate) fn was_not_carried_out(error: &ServiceError) -> bool {
    match over_http(error) {
        Some(HttpError::Client(error)) => error.is_connect() || error.is_builder(),
        Some(HttpError::HttpStatus(answer)) => NOT_CARRIED_OUT.contains(&answer.status),
        Some(HttpError::UnexpectedServerResponse(words)) => {
            status_in(words).is_some_and(|it| NOT_CARRIED_OUT.contains(&it))
        }
        Some(
            HttpError::AuthRequired(_)
            | HttpError::InsufficientScope(_)
            | HttpError::ReservedHeaderConflict(_)
            | HttpError::SessionExpired,
        ) => true,
        _ => false,
    }
}

/// True if the server does not know the MCP session any more.
pub(crate) fn is_of_an_expired_session(error: &ServiceError) -> bool {
    matches!(over_http(error), Some(HttpError::SessionExpired))
}

/// True if the next request needs another connection: the server is unreachable or rejects this
/// client.
pub(crate) fn ends_the_connection(error: &ServiceError) -> bool {
    if let ServiceError::McpError(error) = error {
        return error.data.as_ref() == Some(&unknown_session());
    }
    match over_http(error) {
        Some(HttpError::Client(_)) => true,
        Some(HttpError::UnexpectedServerResponse(words)) => {
            status_in(words).is_some_and(|it| (400..500).contains(&it))
        }
        Some(
            HttpError::AuthRequired(_)
            | HttpError::InsufficientScope(_)
            | HttpError::SessionExpired,
        ) => true,
        _ => false,
    }
}

/// Marks the error of a call whose session the server does not know any more. The call was
/// answered, so it is not repeated; the next one needs another session.
pub(crate) fn mark_unknown_session(error: &mut ErrorData) {
    error.data = Some(unknown_session());
}

/// Returns the error data that no server knows.
fn unknown_session() -> Value {
    format!("{}session", mark()).into()
}

/// Returns the status from the library's error text, which for most answers is its only source.
fn status_in(words: &str) -> Option<u16> {
    words.strip_prefix("HTTP ")?.get(..3)?.parse().ok()
}

/// The status codes of requests that were not carried out. After any other code, even 503 and 408,
/// a server or its proxy may have carried out the request.
const NOT_CARRIED_OUT: [u16; 10] = [307, 308, 401, 403, 404, 405, 406, 413, 415, 429];
