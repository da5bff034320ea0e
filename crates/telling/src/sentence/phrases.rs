//! The parts that several sentences share.

use recount::session::{Json, Outcome, Route};

/// The end of a call, in a word or two; `None` for an interim response.
pub fn ending(outcome: Outcome) -> Option<&'static str> {
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

/// The way of a response to the model.
pub(super) fn way(route: Route) -> &'static str {
    match route {
        Route::ToolResponse { .. } => "sent as tool response",
        Route::Conversation { .. } => "sent as text",
        Route::Parked => "not sent yet: no connection",
        Route::Connect => "not sent yet: connecting",
        Route::Notify => "sent to the program only",
        Route::Caller => "sent to its caller",
        Route::Parent => "sent to its agent",
    }
}

/// The party that learns that a call waits.
pub(super) fn told(route: Route) -> &'static str {
    match route {
        Route::ToolResponse { .. } | Route::Conversation { .. } => "model told so",
        Route::Parked | Route::Connect => "model not told yet: no connection",
        Route::Notify => "only the program told so",
        Route::Caller => "its caller told so",
        Route::Parent => "its agent told so",
    }
}

/// A reason behind a colon; empty without one.
pub fn clause(reason: Option<&str>) -> String {
    match reason {
        Some(reason) if !reason.is_empty() => format!(": {reason}"),
        Some(_) | None => String::new(),
    }
}

/// The error text in the response of a tool, or the whole response.
pub(super) fn failure_in(response: &Json) -> String {
    match response.to_value().get("error").and_then(|it| it.as_str()) {
        Some(error) => error.to_owned(),
        None => response.as_str().to_owned(),
    }
}
