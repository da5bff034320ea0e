//! The error type of the engine.

use std::panic::resume_unwind;
use std::time::Duration;

use tokio::task::JoinError;
use uuid::Uuid;

use super::received::Received;
use crate::adk::RefusedMessage;
use crate::control::Refusal;
use crate::ledger;
use crate::live::ConnectError;
use crate::session::{CallId, Hook, Rejection, RequestId, Seq, SessionId};

/// An operation of the engine failed or was refused.
///
/// `Refused` is the error that a caller should expect: a rule rejected the command, with its
/// reason.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A rule rejected the command.
    #[error("{0}")]
    Refused(Rejection),
    /// A rule rejected the command at the process that owns the session.
    #[error("{}", _0.text)]
    RefusedElsewhere(Box<Refusal>),
    /// A legal hold was not placed or not released.
    #[error(transparent)]
    HoldRefused(#[from] ledger::HoldRefusal),
    /// The journal failed, or its content cannot be read.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// The connection to the model's service failed.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The configuration is invalid. Lists every mistake, not only the first.
    #[error("the configuration has {} mistake(s): {}", mistakes.len(), mistakes.join("; "))]
    Configuration {
        /// The mistakes.
        mistakes: Vec<String>,
    },
    /// This process has another key store than the other processes of the journal.
    #[error(
        "the key store is not that of the other processes of this journal: it does not have the \
         key {missing}, or cannot open it"
    )]
    OtherKeyStore {
        /// The id of a key of the others, or a sealed session.
        missing: Uuid,
    },
    /// No agent with this name is registered with this engine.
    #[error("no agent named {name:?} is registered; registered: {registered}")]
    UnknownAgent {
        /// The requested name.
        name: String,
        /// The registered names.
        registered: String,
    },
    /// No confirmation request has this id.
    #[error("there is no confirmation request {request}")]
    UnknownRequest {
        /// The requested id.
        request: RequestId,
    },
    /// No part of a client's message was accepted.
    #[error(transparent)]
    Message(#[from] RefusedMessage),
    /// Some parts of a client's message were accepted and others refused.
    #[error(
        "{} part(s) of the message were taken, {} were not: {}",
        taken.len(),
        refused.len(),
        listed(refused)
    )]
    PartlyTaken {
        /// The accepted parts.
        taken: Vec<Received>,
        /// The refused parts: the id that each answers, and the error.
        refused: Vec<(String, Error)>,
    },
    /// No call has this id.
    #[error("there is no paused call {call}")]
    UnknownCall {
        /// The requested id.
        call: CallId,
    },
    /// The id in a response differs from the id in its ticket.
    #[error(
        "the response is for {found:?}, and the ticket for the call {call}{}",
        named(expected)
    )]
    WrongId {
        /// The call that the ticket names.
        call: CallId,
        /// The model's own id for it.
        expected: Option<String>,
        /// The id in the response.
        found: String,
    },
    /// The agent has a hook that must see outside responses first, and the agent is not registered
    /// here.
    #[error(
        "the agent of session {session} has a hook {}, which must see the response first: \
         give it to a process that serves the agent",
        hook.as_str()
    )]
    HookMissing {
        /// The session.
        session: SessionId,
        /// The hook.
        hook: Hook,
    },
    /// A handle or another task already serves the session.
    #[error("session {session} has a live connection already")]
    AlreadyConnected {
        /// The session.
        session: SessionId,
    },
    /// The session has no connection to send on.
    #[error("session {session} has no live connection")]
    NotConnected {
        /// The session.
        session: SessionId,
    },
    /// The session's task stopped after a failure. Nothing runs any more; opening the session again
    /// recovers it.
    #[error("session {session} stopped: {cause}")]
    Stopped {
        /// The session.
        session: SessionId,
        /// The cause of the failure.
        cause: String,
        /// True if the journal could not be written: a full disk, or a database that refuses the
        /// write or cannot be reached.
        unwritable: bool,
    },
    /// The pause is recorded, and this process starts nothing that it holds. Another process of the
    /// journal may not know of it yet: it did not confirm that it starts nothing.
    #[error(
        "the pause was not confirmed within {} s by every node of the journal ({cause}), so a call \
         may still start there",
        within.as_secs()
    )]
    PauseUnconfirmed {
        /// The record of the pause, in the journal's own stream.
        at: Seq,
        /// The time for which the confirmations were awaited.
        within: Duration,
        /// The nodes that have not confirmed it, or why they are not known.
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

/// Returns the error for a task that did not finish. A task that did not panic ended with its
/// runtime. A panic continues in the awaiting task.
pub(super) fn ended(task: JoinError) -> Error {
    match task.try_into_panic() {
        Ok(panic) => resume_unwind(panic),
        Err(_) => Error::ShutDown,
    }
}
