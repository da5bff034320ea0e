//! What can go wrong in the engine.

use std::panic::resume_unwind;

use tokio::task::JoinError;

use super::received::Received;
use crate::adk::RefusedMessage;
use crate::ledger;
use crate::live::ConnectError;
use crate::session::{CallId, Hook, Rejection, RequestId, SessionId};

/// The engine could not do what was asked.
///
/// `Refused` is the one that a caller expects: a rule said no, and says why.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A rule said no.
    #[error("{0}")]
    Refused(Rejection),
    /// The journal failed, or what stands in it cannot be read.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// The connection to the model's service.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// What was configured cannot work; every mistake, not only the first.
    #[error("the configuration has {} mistake(s): {}", mistakes.len(), mistakes.join("; "))]
    Configuration {
        /// The mistakes.
        mistakes: Vec<String>,
    },
    /// No agent of that name is registered with this engine.
    #[error("no agent named {name:?} is registered; registered: {registered}")]
    UnknownAgent {
        /// What was asked for.
        name: String,
        /// What there is.
        registered: String,
    },
    /// No confirmation request has this id.
    #[error("there is no confirmation request {request}")]
    UnknownRequest {
        /// What was asked for.
        request: RequestId,
    },
    /// Nothing of a client's message was taken.
    #[error(transparent)]
    Message(#[from] RefusedMessage),
    /// Some parts of a client's message were taken, others were not.
    #[error("{} part(s) of the message were taken, {} were not: {}", taken.len(), refused.len(), listed(refused))]
    PartlyTaken {
        /// What was taken.
        taken: Vec<Received>,
        /// What was not: the id that the part answers, and why.
        refused: Vec<(String, Error)>,
    },
    /// No call has this id.
    #[error("there is no paused call {call}")]
    UnknownCall {
        /// What was asked for.
        call: CallId,
    },
    /// A response has the id of another call than its ticket.
    #[error(
        "the response is for {found:?}, and the ticket for the call {call}{}",
        named(expected)
    )]
    WrongId {
        /// The call that the ticket names.
        call: CallId,
        /// The model's own id for it.
        expected: Option<String>,
        /// The id that came.
        found: String,
    },
    /// The agent's hook must see what comes from outside, and is not here.
    #[error(
        "the agent of session {session} has a hook {}, which must see the response first: give it to a process that serves the agent",
        hook.as_str()
    )]
    HookMissing {
        /// The session.
        session: SessionId,
        /// The hook.
        hook: Hook,
    },
    /// The session is served by a handle or another task already.
    #[error("session {session} has a live connection already")]
    AlreadyConnected {
        /// The session.
        session: SessionId,
    },
    /// There is no connection to send on.
    #[error("session {session} has no live connection")]
    NotConnected {
        /// The session.
        session: SessionId,
    },
    /// The session's task stopped because something failed; nothing runs any more, and opening it
    /// again recovers.
    #[error("session {session} stopped: {cause}")]
    Stopped {
        /// The session.
        session: SessionId,
        /// What failed.
        cause: String,
    },
    /// The engine was shut down.
    #[error("the engine is shut down")]
    ShutDown,
}

fn named(id: &Option<String>) -> String {
    let named = |id: &String| format!(", which the model calls {id:?}");
    id.as_ref().map(named).unwrap_or_default()
}

fn listed(refused: &[(String, Error)]) -> String {
    let each = refused.iter().map(|(id, error)| format!("{id:?}: {error}"));
    each.collect::<Vec<_>>().join("; ")
}

impl From<recount_journal::Error> for Error {
    fn from(error: recount_journal::Error) -> Error {
        Error::Ledger(error.into())
    }
}

impl From<Rejection> for Error {
    fn from(rejection: Rejection) -> Error {
        Error::Refused(rejection)
    }
}

/// What is told of a task that did not come to its end: one that did not panic ended with its
/// runtime. A panic goes on in whoever waits.
pub(super) fn ended(task: JoinError) -> Error {
    match task.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        Err(_) => Error::ShutDown,
    }
}

/// An error and everything behind it, as one line.
pub(super) fn causes(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
