//! Error texts for failed handshakes and requests, with the causes of an error.

use std::error::Error;

use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;

/// Returns the reason why a handshake failed, without the messages that were sent.
pub(crate) fn of_handshake(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => "it hung up during the handshake".to_owned(),
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_) => {
            "its answer to the handshake is none".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => in_words(error.error.as_ref()),
        other => in_words(other),
    }
}

/// Returns the reason why a request failed.
pub(crate) fn of_request(error: &ServiceError) -> String {
    match error {
        ServiceError::TransportSend(error) => in_words(error.error.as_ref()),
        other => in_words(other),
    }
}

/// Joins an error and its causes.
fn in_words(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(it) = cause {
        let said = it.to_string();
        if !words.contains(&said) {
            words = format!("{words}: {said}");
        }
        cause = it.source();
    }
    words
}
