//! Requests without an answer: whether they can have taken effect, and whether the connection is of
//! use any more.

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

/// True if the request was carried out by nobody: it did not get to the server, or was turned away
/// at its door.
pub(crate) fn was_turned_away(error: &ServiceError) -> bool {
    match over_http(error) {
        Some(HttpError::Client(error)) => error.is_connect() || error.is_builder(),
        Some(HttpError::HttpStatus(answer)) => TURNS_AWAY.contains(&answer.status),
        Some(HttpError::UnexpectedServerResponse(words)) => {
            status_in(words).is_some_and(|it| TURNS_AWAY.contains(&it))
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

/// True if the server does not know our session any more.
pub(crate) fn is_of_an_expired_session(error: &ServiceError) -> bool {
    matches!(over_http(error), Some(HttpError::SessionExpired))
}

/// True if the next request needs another connection: nobody is at the end of this one, or nobody
/// who knows us.
pub(crate) fn ends_the_connection(error: &ServiceError) -> bool {
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

/// The status in the library's words for an answer; it has no others for most of them.
fn status_in(words: &str) -> Option<u16> {
    words.strip_prefix("HTTP ")?.get(..3)?.parse().ok()
}

/// What is answered at the door: not known, not allowed, nothing there, not like this, too much, or
/// elsewhere. With any other, 503 as well as 408, a server, or a proxy before it, may answer after
/// the request was carried out.
const TURNS_AWAY: [u16; 10] = [307, 308, 401, 403, 404, 405, 406, 413, 415, 429];
