//! Parts of sentences, the same in each.

use recount::session::{Json, Outcome, Route};

/// How a call ended, in a word or two; nothing where it goes on.
pub(super) fn ending(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Interim => None,
        Outcome::Returned => Some("returned"),
        Outcome::Failed => Some("failed"),
        Outcome::Supplied => Some("supplied"),
        Outcome::Refused => Some("refused"),
        Outcome::Denied => Some("denied"),
        Outcome::Expired => Some("expired"),
        Outcome::TimedOut => Some("timed out"),
        Outcome::Cancelled => Some("cancelled"),
        Outcome::Unknown => Some("outcome unknown"),
        Outcome::Withdrawn => Some("withdrawn"),
    }
}

pub(crate) fn way(route: Route) -> &'static str {
    match route {
        Route::ToolResponse { .. } => "toolResponse",
        Route::Conversation { .. } => "as conversation",
        Route::Parked => "parked",
        Route::Connect => "for the connection that is opened for it",
        Route::Notify => "to the program alone",
        Route::Caller => "to its caller",
        Route::Parent => "to its agent",
    }
}

pub(crate) fn clause(reason: Option<&str>) -> String {
    match reason {
        Some(reason) if !reason.is_empty() => format!(": {reason}"),
        Some(_) | None => String::new(),
    }
}

/// The words of an error that a tool answered with, or the whole answer.
pub(super) fn failure_in(response: &Json) -> String {
    match response.to_value().get("error").and_then(|it| it.as_str()) {
        Some(error) => error.to_owned(),
        None => response.as_str().to_owned(),
    }
}
