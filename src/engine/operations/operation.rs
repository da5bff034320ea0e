//! Operations of people and programs on a session, at a running engine or at a desk.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::claims::claiming::{ClientAction, command_of};
use super::desk::Desk;
use super::reconciling::reconciles;
use super::responding::supplies_json;
use crate::control::{OnRecord, Refusal};
use crate::engine::error::Error;
use crate::engine::serving::engine::Engine;
use crate::ledger::{ClaimKey, HoldTarget, Ledger, PauseTarget};
use crate::session::{
    Actor, Command, Event, Finding, Json, Observation, RequestId, Seq, Session, SessionId,
    Timestamp, UnfitAnswer,
};
use crate::tool::{Ticket, ToolConfirmation};

/// An operation on a session, as requested by the control server, the command line or a program.
///
/// The [`Actor`] beside it is the requester, with the way in which the identity was established.
///
/// Its JSON is for the processes of one journal, which send operations to the owner of a session:
///
/// ```json
/// {"cancel":{"session":"0199…","call":5,"reason":"ordered twice"}}
/// ```
///
/// ```
/// # async fn example(
/// #     engine: recount::engine::Engine,
/// #     ticket: recount::prelude::Ticket,
/// # ) -> Result<(), recount::engine::Error> {
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Answers a confirmation request, or states the outcome of the call in doubt that the request
    /// is about.
    Answer {
        /// The request.
        request: RequestId,
        /// The answer, or the reason why the input is none. The reason is recorded, and the request
        /// stays open.
        #[serde(with = "super::elsewhere::given")]
        given: Result<ToolConfirmation, UnfitAnswer>,
    },
    /// Supplies the result of a paused call, or an interim result.
    Respond {
        /// The call.
        ticket: Ticket,
        /// The result, a JSON object. Its numbers keep their digits.
        response: Json,
        /// True for an interim result, after which the call stays paused.
        interim: bool,
    },
    /// Records the outcome found for a call that ended as `unknown` or `timed_out`.
    Reconcile {
        /// The session.
        session: SessionId,
        /// The record of the call.
        call: Seq,
        /// The outcome found.
        found: Finding,
    },
    /// Cancels an open call.
    Cancel {
        /// The session.
        session: SessionId,
        /// The record of the call.
        call: Seq,
        /// The reason, which is delivered to the model.
        reason: Option<String>,
    },
    /// Revokes a standing leave.
    RevokeLeave {
        /// The session.
        session: SessionId,
        /// The leave: the seq of the answer that gave it.
        leave: Seq,
        /// The reason.
        reason: Option<String>,
    },
    /// Pauses a session, a tool in it, an agent, or everything: nothing in it starts.
    Pause {
        /// The sessions and tools to pause.
        target: PauseTarget,
        /// The reason.
        reason: Option<String>,
        /// True to cancel the calls that run. Without a service, only clients run calls.
        cancel_running: bool,
    },
    /// Ends a pause. Its calls start, unless another pause holds them.
    Unpause {
        /// The paused sessions and tools.
        target: PauseTarget,
        /// The reason.
        reason: Option<String>,
    },
    /// Places a legal hold: no session of the target can be erased until the hold is released.
    ///
    /// The seq of the record is the id of the hold. A hold in force with the same target, reason
    /// and actor is returned, and nothing is recorded.
    ///
    /// ```
    /// # async fn example(
    /// #     desk: recount::engine::Desk,
    /// #     id: recount::session::SessionId,
    /// # ) -> Result<(), recount::engine::Error> {
    /// use recount::engine::Operation;
    /// use recount::ledger::HoldTarget;
    /// use recount::session::Actor;
    /// let (target, reason) = (HoldTarget::Session(id), "letter of counsel".to_owned());
    /// desk.operate(Operation::PlaceHold { target, reason }, Actor::os_user("ada")).await?;
    /// # Ok(()) }
    /// ```
    PlaceHold {
        /// The sessions to keep.
        target: HoldTarget,
        /// The reason, recorded in clear.
        reason: String,
    },
    /// Releases a legal hold. Other holds on the same sessions stay in force.
    ReleaseHold {
        /// The hold: the seq of its record in the journal's own stream.
        hold: Seq,
        /// The reason, recorded in clear.
        reason: String,
    },
    /// A request of a client about a call that it holds, such as a result or the end of its claim.
    ///
    /// ```
    /// # async fn example(
    /// #     desk: recount::engine::Desk,
    /// #     call: recount::engine::ClaimedCall,
    /// # ) -> Result<(), recount::engine::Error> {
    /// use recount::engine::{ClientAction, Operation};
    /// use recount::session::{Actor, Lease};
    /// let (key, action) = (call.key(), ClientAction::Renew(Lease::DEFAULT));
    /// desk.operate(Operation::Client { key, action }, Actor::os_user("ada")).await?;
    /// # Ok(()) }
    /// ```
    Client {
        /// The claim.
        key: ClaimKey,
        /// The request.
        action: ClientAction,
    },
    /// Closes a session, which cancels its open calls. An engine without the session's agent closes
    /// none.
    Close {
        /// The session.
        session: SessionId,
        /// The reason.
        reason: String,
    },
}

/// The outcome of an operation that was carried out without an error.
#[derive(Debug)]
pub enum Operated {
    /// It is recorded.
    OnRecord(OnRecord),
    /// A rule refused it, with the earlier recorded decision. The refusal may be recorded, and so
    /// may an expiry that was due.
    Refused(Refusal),
    /// It is recorded, but what the receipt says beside it could not be read.
    OnRecordBut(OnRecord, Error),
}

/// The executor of an operation: an engine or a desk.
pub(super) enum Executor<'a> {
    Engine(&'a Engine),
    Desk(&'a Desk),
}

impl Executor<'_> {
    pub(super) async fn operate(&self, operation: Operation, by: Actor) -> Result<Operated, Error> {
        let (session, call) = self.about(&operation).await?;
        let tool = match call {
            Some(call) => self.ledger().tool_of(session, call).await?,
            None => None,
        };
        let tool = tool.or_else(|| paused_tool(&operation));
        let tool = tool.unwrap_or_default();
        let by_client = matches!(operation, Operation::Client { .. });
        let taken_back = call.filter(|_| matches!(operation, Operation::Cancel { .. }));
        let answers = matches!(operation, Operation::Answer { .. });
        let done = self.put(operation, tool.clone(), by.clone()).await;
        let seq = match done {
            Ok(seq) => seq,
            Err(Error::Refused(rejection)) => {
                let refusal = Refusal::of(self.ledger(), session, &rejection).await;
                return Ok(Operated::Refused(refusal));
            }
            Err(Error::HoldRefused(refusal)) => {
                return Ok(Operated::Refused(Refusal::of_hold(session, &refusal)));
            }
            Err(error) => return Err(error),
        };
        let mut on_record = OnRecord {
            session,
            seq,
            tool,
            by,
            attempts: 0,
            late: false,
            until: None,
            missing: 0,
        };
        if by_client && let Err(error) = self.note_client(&mut on_record).await {
            return Ok(Operated::OnRecordBut(on_record, error));
        }
        if answers {
            return match self.ledger().approvals_missing(session, seq).await {
                Ok(missing) => {
                    on_record.missing = missing;
                    Ok(Operated::OnRecord(on_record))
                }
                Err(error) => Ok(Operated::OnRecordBut(on_record, error.into())),
            };
        }
        let Some(call) = taken_back else {
            return Ok(Operated::OnRecord(on_record));
        };
        match self.ledger().attempts_of(session, call).await {
            Ok(attempts) => {
                on_record.attempts = attempts;
                Ok(Operated::OnRecord(on_record))
            }
            Err(error) => Ok(Operated::OnRecordBut(on_record, error.into())),
        }
    }

    /// Returns the session of an operation, and the record of its call, if it is about one.
    pub(super) async fn about(
        &self,
        operation: &Operation,
    ) -> Result<(SessionId, Option<Seq>), Error> {
        match operation {
            Operation::Answer { request, .. } => {
                let named = self.ledger().journal().request(request.0).await?;
                let (session, call) = named.ok_or(Error::UnknownRequest { request: *request })?;
                Ok((SessionId(session), Some(Seq(call))))
            }
            Operation::Respond { ticket, .. } => Ok((ticket.session, Some(ticket.call))),
            Operation::Reconcile { session, call, .. }
            | Operation::Cancel { session, call, .. } => Ok((*session, Some(*call))),
            Operation::Client { key, .. } => Ok((key.session, Some(key.call))),
            Operation::RevokeLeave { session, leave, .. } => Ok((
                *session,
                self.ledger().call_of_answer(*session, *leave).await?,
            )),
            Operation::Close { session, .. } => Ok((*session, None)),
            // A pause of more than one session is recorded in the stream with the nil id.
            Operation::Pause { target, .. } | Operation::Unpause { target, .. } => {
                let session = target.session();
                Ok((session.unwrap_or(SessionId(Uuid::nil())), None))
            }
            // Their records are all in that stream.
            Operation::PlaceHold { .. } | Operation::ReleaseHold { .. } => {
                Ok((SessionId(Uuid::nil()), None))
            }
        }
    }

    async fn put(&self, operation: Operation, tool: String, by: Actor) -> Result<Seq, Error> {
        match operation {
            Operation::Answer { request, given } => match self {
                Executor::Engine(engine) => engine.answer_as(request, given, by).await,
                Executor::Desk(desk) => desk.answer_as(request, given, by).await,
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
            Operation::Pause {
                target,
                reason,
                cancel_running,
            } => match self {
                Executor::Engine(it) => it.pause(target, reason, cancel_running, by).await,
                Executor::Desk(desk) => desk.pause(target, reason, cancel_running, by).await,
            },
            Operation::Unpause { target, reason } => match self {
                Executor::Engine(engine) => engine.unpause(target, reason, by).await,
                Executor::Desk(desk) => desk.unpause(target, reason, by).await,
            },
            Operation::PlaceHold { target, reason } => {
                let placed = self.ledger().place_hold(target, reason, by, self.now());
                Ok(placed.await??.id)
            }
            Operation::ReleaseHold { hold, reason } => {
                let released = self.ledger().release_hold(hold, reason, by, self.now());
                let end = released.await??.released;
                Ok(end.map_or(hold, |it| it.record))
            }
            Operation::RevokeLeave {
                session,
                leave,
                reason,
            } => {
                let command = Command::RevokeLeave { leave, reason, by };
                self.take(session, command).await
            }
            Operation::Client { key, action } => {
                let now = self.now();
                let (session, command) = command_of(self.ledger(), key, action, now, by).await?;
                self.take(session, command).await
            }
            Operation::Close { session, reason } => match self {
                Executor::Engine(engine) => engine.close_session(session, &reason, by).await,
                Executor::Desk(desk) => desk.close_session(session, &reason, by).await,
            },
        }
    }

    pub(super) async fn take(&self, session: SessionId, command: Command) -> Result<Seq, Error> {
        match self {
            Executor::Engine(engine) => engine.command(session, command).await,
            Executor::Desk(desk) => desk.take(session, command).await,
        }
    }

    /// Returns the current state of a session, as [`Engine::folded`] does.
    pub(super) async fn folded(&self, session: SessionId) -> Result<Session, Error> {
        match self {
            Executor::Engine(engine) => engine.folded(session).await,
            Executor::Desk(desk) => Ok(desk.ledger.load(session).await?.session),
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        match self {
            Executor::Engine(engine) => engine.inner.clock.now(),
            Executor::Desk(desk) => desk.clock.now(),
        }
    }

    /// Adds what the record says about a client's request: a late result, or the end of the lease.
    async fn note_client(&self, on_record: &mut OnRecord) -> Result<(), Error> {
        let fact = self.ledger().fact(on_record.session, on_record.seq).await?;
        match fact.map(|fact| fact.event) {
            Some(Event::Observed(Observation::OutcomeFound(_))) => on_record.late = true,
            Some(Event::Observed(Observation::LeaseRenewed(it))) => {
                on_record.until = Some(it.until_us);
            }
            Some(Event::Observed(_) | Event::Decided(_)) | None => {}
        }
        Ok(())
    }

    pub(super) fn ledger(&self) -> &Ledger {
        match self {
            Executor::Engine(engine) => engine.ledger(),
            Executor::Desk(desk) => &desk.ledger,
        }
    }
}

/// The tool of a pause, or of its end.
fn paused_tool(operation: &Operation) -> Option<String> {
    match operation {
        Operation::Pause { target, .. } | Operation::Unpause { target, .. } => {
            target.tool().map(str::to_owned)
        }
        Operation::Answer { .. }
        | Operation::Respond { .. }
        | Operation::Reconcile { .. }
        | Operation::Cancel { .. }
        | Operation::Client { .. }
        | Operation::RevokeLeave { .. }
        | Operation::PlaceHold { .. }
        | Operation::ReleaseHold { .. }
        | Operation::Close { .. } => None,
    }
}
