//! The way of an operation to the process that owns its session.

use std::time::Duration;

use recount_journal::{Error as JournalError, Sharing, causes};
use tokio::time::Instant;
use uuid::Uuid;

use super::super::desk::Desk;
use super::super::operation::{Executor, Operated, Operation};
use super::wire::{Outcome, Sent};
use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;
use crate::ledger;
use crate::session::{Actor, Seq, SessionId};

/// The time for which an operation waits for the owner of its session.
pub(in crate::engine::operations) const WITHIN: Duration = Duration::from_secs(30);

impl Engine {
    /// Carries out an operation, through the session's task or, without its agent, through the
    /// desk. In a journal that several processes write, the owner of the session carries it out.
    ///
    /// # Errors
    /// [`Error::UnknownRequest`], [`Error::HookMissing`] and [`Error::UnknownAgent`], which record
    /// nothing. After any other error, such as [`Error::Stopped`], the operation may be recorded.
    pub async fn operate(&self, operation: Operation, by: Actor) -> Result<Operated, Error> {
        Executor::Engine(self).operate_anywhere(operation, by).await
    }
}

impl Desk {
    /// Records an operation, and starts nothing. In a journal that several processes write, the
    /// owner of the session carries it out.
    ///
    /// # Errors
    /// Those of [`Engine::operate`].
    pub async fn operate(&self, operation: Operation, by: Actor) -> Result<Operated, Error> {
        Executor::Desk(self).operate_anywhere(operation, by).await
    }
}

/// The end of an operation that was sent.
enum Way {
    Replied(String),
    /// No process took it, and it was withdrawn: the session may have no owner now.
    Withdrawn,
}

impl Executor<'_> {
    /// Carries out an operation, here or at the owner of its session.
    pub(in crate::engine::operations) async fn operate_anywhere(
        &self,
        operation: Operation,
        by: Actor,
    ) -> Result<Operated, Error> {
        match self.operate(operation.clone(), by.clone()).await {
            Err(error) if error.is_owned() => {
                self.operate_elsewhere(operation, by, error, WITHIN).await
            }
            done => done,
        }
    }

    /// Sends an operation to the owner of its session, and returns its record. `owned` is the error
    /// of the attempt here.
    pub(in crate::engine::operations) async fn record_elsewhere(
        &self,
        operation: Operation,
        by: Actor,
        owned: Error,
        within: Duration,
    ) -> Result<Seq, Error> {
        let operated = self.operate_elsewhere(operation, by, owned, within);
        match operated.await? {
            Operated::OnRecord(it) | Operated::OnRecordBut(it, _) => Ok(it.seq),
            Operated::Refused(refusal) => Err(Error::RefusedElsewhere(Box::new(refusal))),
        }
    }

    /// Sends an operation to the owner of its session. Without an owner, it is carried out here.
    /// `owned` is the error of the last attempt here.
    pub(in crate::engine::operations) async fn operate_elsewhere(
        &self,
        operation: Operation,
        by: Actor,
        mut owned: Error,
        within: Duration,
    ) -> Result<Operated, Error> {
        let journal = self.ledger().journal().clone();
        let Some(sharing) = journal.sharing() else {
            return Err(owned);
        };
        let until = Instant::now() + within;
        loop {
            let (session, _) = self.about(&operation).await?;
            let sent = Sent {
                operation: operation.clone(),
                by: by.clone(),
            };
            let unwritable = |source| ledger::Error::Unwritable { session, source };
            let text = serde_json::to_string(&sent).map_err(unwritable)?;
            let text = self.ledger().seal_for_process(session, text).await?;
            match send(sharing, session, text, until).await? {
                Way::Replied(reply) => {
                    let reply = self.ledger().open_from_process(session, &reply).await?;
                    let outcome = serde_json::from_str(&reply);
                    let unreadable = |error: serde_json::Error| Outcome::Failed(error.to_string());
                    return operated(session, outcome.unwrap_or_else(unreadable));
                }
                Way::Withdrawn if until <= Instant::now() => return Err(owned),
                Way::Withdrawn => {}
            }
            owned = match self.operate(operation.clone(), by.clone()).await {
                Err(error) if error.is_owned() => error,
                done => return done,
            };
        }
    }
}

/// Sends an operation to the owner of a session, and waits for the outcome.
///
/// A look that fails is repeated: the owner may have carried out the operation already.
async fn send(
    sharing: &dyn Sharing,
    session: SessionId,
    text: String,
    until: Instant,
) -> Result<Way, Error> {
    let within = until.saturating_duration_since(Instant::now());
    let id: Uuid = sharing.ask(session.0, text, within).await?;
    let mut seen = 0;
    loop {
        let is_late = until <= Instant::now();
        match end_of(sharing, (session, id), is_late).await {
            Ok(Some(way)) => return Ok(way),
            Ok(None) if is_late => {
                let cause = "its owner has not told what became of the request".to_owned();
                return Err(stopped(session, cause, false));
            }
            Ok(None) => {}
            Err(error) if error.is_transient() && !is_late => {
                tracing::debug!(%session, error = %causes(&error), "no look at a request");
            }
            Err(error) => {
                let unwritable = error.is_transient();
                return Err(stopped(session, causes(&error), unwritable));
            }
        }
        seen = sharing.changed(seen).await;
    }
}

/// Returns the end of an operation that was sent, once it has one. Without an owner, or late, it is
/// withdrawn.
async fn end_of(
    sharing: &dyn Sharing,
    (session, id): (SessionId, Uuid),
    is_late: bool,
) -> Result<Option<Way>, JournalError> {
    if let Some(reply) = sharing.replied(session.0, id).await? {
        return Ok(Some(Way::Replied(reply)));
    }
    let may_be_withdrawn = is_late || sharing.owner(session.0).await?.is_none();
    let is_withdrawn = may_be_withdrawn && sharing.withdraw(session.0, id).await?;
    Ok(is_withdrawn.then_some(Way::Withdrawn))
}

fn operated(session: SessionId, outcome: Outcome) -> Result<Operated, Error> {
    match outcome {
        Outcome::OnRecord(it) => Ok(Operated::OnRecord(it)),
        Outcome::OnRecordBut(it, cause) => {
            Ok(Operated::OnRecordBut(it, stopped(session, cause, false)))
        }
        Outcome::Refused(refusal) => Ok(Operated::Refused(refusal)),
        Outcome::Failed(cause) => Err(stopped(session, cause, false)),
        Outcome::Unwritable(cause) => Err(stopped(session, cause, true)),
    }
}

/// The error of an operation that its owner may have recorded.
fn stopped(session: SessionId, cause: String, unwritable: bool) -> Error {
    Error::Stopped {
        session,
        cause,
        unwritable,
    }
}

impl Error {
    /// True if another process owns the session, and nothing was recorded.
    pub(in crate::engine) fn is_owned(&self) -> bool {
        matches!(
            self,
            Error::Ledger(ledger::Error::Journal(
                JournalError::Owned { .. } | JournalError::Fenced { .. }
            ))
        )
    }

    /// True if this process ends, or has lost the session.
    pub(super) fn is_of_the_past(&self) -> bool {
        matches!(
            self,
            Error::ShutDown | Error::Ledger(ledger::Error::Journal(JournalError::Fenced { .. }))
        )
    }
}
