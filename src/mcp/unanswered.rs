//! Requests without an answer: whether they can have taken effect, and whether the connection is of use any more.

use rmcp::ServiceError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

type HttpError = StreamableHttpError<reqwest::Error>;

/// What is wrong with the way over HTTP; none of another way.
fn over_http(error: &ServiceError) -> Option<&HttpError> {
    match error {
        ServiceError::TransportSend(error) => error.error.downcast_ref(),
        _ => None,
    }
}

/// Whether the request was carried out by nobody: it did not get to the server, or was turned away at its door.
pub(super) fn was_turned_away(error: &ServiceError) -> bool {
    match over_http(error) {
        Some(HttpError::Client(error)) => error.is_connect() || error.is_builder(),
        // What answers with another of the fives may have carried it out before, or what stands behind it.
        Some(HttpError::HttpStatus(answer)) => matches!(answer.status, 429 | 503),
        Some(HttpError::UnexpectedServerResponse(words)) => says_status(words, &['3', '4']),
        Some(
            HttpError::AuthRequired(_)
            | HttpError::InsufficientScope(_)
            | HttpError::ReservedHeaderConflict(_)
            | HttpError::SessionExpired,
        ) => true,
        _ => false,
    }
}

/// Whether the server does not know our session any more.
pub(super) fn is_of_an_expired_session(error: &ServiceError) -> bool {
    matches!(over_http(error), Some(HttpError::SessionExpired))
}

/// Whether the next request needs another connection: nobody is at the end of this one, or nobody who knows us.
pub(super) fn ends_the_connection(error: &ServiceError) -> bool {
    match over_http(error) {
        Some(HttpError::Client(_)) => true,
        Some(HttpError::UnexpectedServerResponse(words)) => says_status(words, &['4']),
        Some(
            HttpError::AuthRequired(_)
            | HttpError::InsufficientScope(_)
            | HttpError::SessionExpired,
        ) => true,
        _ => false,
    }
}

/// Whether these are the library's words for an answer with a status that begins so; it has no others for most of them.
fn says_status(words: &str, beginnings: &[char]) -> bool {
    let status = words.strip_prefix("HTTP ");
    status.is_some_and(|it| it.starts_with(beginnings))
}
