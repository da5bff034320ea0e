//! The operations of people and programs on a session, each once: at a running engine and at a desk.

use super::desk::Desk;
use super::reconciling::reconciles;
use super::responding::supplies_json;
use crate::control::{OnRecord, Refusal};
use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;
use crate::ledger::Ledger;
use crate::session::{Actor, Command, Finding, Json, RequestId, Seq, SessionId, UnfitAnswer};
use crate::tool::{Ticket, ToolConfirmation};

/// An operation on a session, as every door takes it: the control door, the command line, a program.
///
/// Who asks, and how that was established, stands beside it as the [`Actor`].
///
/// ```
/// # async fn example(engine: recount::engine::Engine, ticket: recount::prelude::Ticket) -> Result<(), recount::engine::Error> {
/// use recount::engine::{Operated, Operation};
/// use recount::prelude::*;
///
/// let operation = Operation::Cancel {
///     session: ticket.session,
///     call: ticket.call,
///     reason: Some("ordered twice".to_owned()),
/// };
/// match engine.operate(operation, Actor::embedder("ada")).await? {
///     Operated::OnRecord(it) => println!("on record at seq {}", it.seq),
///     Operated::Refused(it) => println!("refused: {}", it.text),
///     Operated::OnRecordBut(it, error) => println!("on record at seq {}, but {error}", it.seq),
/// }
/// # Ok(()) }
/// ```
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, on its way to the record"
)]
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Answers a confirmation request, or says what became of the call in doubt that it asks about.
    Answer {
        /// The request.
        request: RequestId,
        /// What the person said, or why it cannot be an answer; that goes on record, and the request
        /// stays open.
        given: Result<ToolConfirmation, UnfitAnswer>,
    },
    /// Gives the result of a paused call, or news of it.
    Respond {
        /// The call.
        ticket: Ticket,
        /// The result, a JSON object, number for number as it was written.
        response: Json,
        /// It is news, after which the call stays paused.
        interim: bool,
    },
    /// Says what became of a call that ended as `unknown` or `timed_out`.
    Reconcile {
        /// The session.
        session: SessionId,
        /// The record of the call.
        call: Seq,
        /// What was found out.
        found: Finding,
    },
    /// Takes back an open call.
    Cancel {
        /// The session.
        session: SessionId,
        /// The record of the call.
        call: Seq,
        /// Why; the model is told.
        reason: Option<String>,
    },
}

/// The outcome of an operation whose machinery did not fail.
#[derive(Debug)]
pub enum Operated {
    /// It is on record.
    OnRecord(OnRecord),
    /// A rule said no, with what was decided before; nothing is changed.
    Refused(Refusal),
    /// It is on record, and what the record says besides could not be read.
    OnRecordBut(OnRecord, Error),
}

impl Engine {
    /// Does an operation, through the session's task or, where its agent is not here, on record alone.
    ///
    /// # Errors
    /// [`Error::UnknownRequest`], and whatever the journal says; nothing is on record then.
    pub async fn operate(&self, operation: Operation, by: Actor) -> Result<Operated, Error> {
        Place::Engine(self).operate(operation, by).await
    }
}

impl Desk {
    /// Does an operation on record; it starts nothing.
    ///
    /// # Errors
    /// As of [`Engine::operate`], and [`Error::HookMissing`].
    pub async fn operate(&self, operation: Operation, by: Actor) -> Result<Operated, Error> {
        Place::Desk(self).operate(operation, by).await
    }
}

/// The place where an operation is done.
enum Place<'a> {
    Engine(&'a Engine),
    Desk(&'a Desk),
}

impl Place<'_> {
    async fn operate(&self, operation: Operation, by: Actor) -> Result<Operated, Error> {
        let (session, call) = self.about(&operation).await?;
        let tool = self.ledger().tool_of(session, call).await?;
        let tool = tool.unwrap_or_default();
        let takes_back = matches!(operation, Operation::Cancel { .. });
        let done = self.put(operation, tool.clone(), by.clone()).await;
        let seq = match done {
            Ok(seq) => seq,
            Err(Error::Refused(rejection)) => {
                let refusal = Refusal::of(self.ledger(), session, &rejection).await;
                return Ok(Operated::Refused(refusal));
            }
            Err(error) => return Err(error),
        };
        let mut on_record = OnRecord {
            session,
            seq,
            tool,
            by,
            attempts: 0,
        };
        if !takes_back {
            return Ok(Operated::OnRecord(on_record));
        }
        match self.ledger().attempts_of(session, call).await {
            Ok(attempts) => {
                on_record.attempts = attempts;
                Ok(Operated::OnRecord(on_record))
            }
            Err(error) => Ok(Operated::OnRecordBut(on_record, error.into())),
        }
    }

    /// The session of an operation, and the record of the call that it is about.
    async fn about(&self, operation: &Operation) -> Result<(SessionId, Seq), Error> {
        match operation {
            Operation::Answer { request, .. } => {
                let named = self.ledger().journal().request(request.0).await?;
                let (session, call) = named.ok_or(Error::UnknownRequest { request: *request })?;
                Ok((SessionId(session), Seq(call)))
            }
            Operation::Respond { ticket, .. } => Ok((ticket.session, ticket.call)),
            Operation::Reconcile { session, call, .. }
            | Operation::Cancel { session, call, .. } => Ok((*session, *call)),
        }
    }

    async fn put(&self, operation: Operation, tool: String, by: Actor) -> Result<Seq, Error> {
        match operation {
            Operation::Answer { request, given } => match self {
                Place::Engine(engine) => engine.answer_as(request, given, by).await,
                Place::Desk(desk) => desk.answer_as(request, given, by).await,
            },
            Operation::Respond {
                ticket,
                response,
                interim,
            } => {
                let name = ticket.tool.clone();
                let (session, command) = supplies_json(&ticket, name, response, interim, by);
                self.take(session, command).await
            }
            Operation::Reconcile {
                session,
                call,
                found,
            } => {
                let ticket = Ticket {
                    session,
                    call,
                    tool,
                };
                let command = reconciles(self.ledger(), &ticket, found, by).await?;
                self.take(session, command).await
            }
            Operation::Cancel {
                session,
                call,
                reason,
            } => {
                let command = Command::CancelCall { call, reason, by };
                self.take(session, command).await
            }
        }
    }

    async fn take(&self, session: SessionId, command: Command) -> Result<Seq, Error> {
        match self {
            Place::Engine(engine) => engine.command(session, command).await,
            Place::Desk(desk) => desk.take(session, command).await,
        }
    }

    fn ledger(&self) -> &Ledger {
        match self {
            Place::Engine(engine) => engine.ledger(),
            Place::Desk(desk) => &desk.ledger,
        }
    }
}
