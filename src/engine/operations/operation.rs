//! Operations of people and programs on a session, at a running engine or at a desk.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::claims::claiming::{ClientAction, claim_of, command_of};
use super::desk::Desk;
use super::receipt::Receipt;
use super::reconciling::reconciles;
use super::responding::supplies_json;
use crate::control::{OnRecord, Refusal};
use crate::engine::error::Error;
use crate::engine::inputs::callers::BegunCall;
use crate::engine::serving::engine::Engine;
use crate::ledger::{ClaimKey, HoldTarget, Ledger, PauseTarget};
use crate::session::{
    Actor, Command, Finding, Json, Lease, RequestId, Seq, Session, SessionId, Timestamp,
    UnfitAnswer,
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
    /// Claims a call for a client, for the length of the lease: see
    /// [`claim`](Engine::claim). The claim starts the call.
    Claim {
        /// The session.
        session: SessionId,
        /// The record of the call.
        call: Seq,
        /// The id of the claim.
        claim: String,
        /// The lease.
        #[serde(rename = "lease_ms", with = "super::elsewhere::lease_ms")]
        lease: Lease,
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
    /// Calls a tool as a program, with an idempotency key: see
    /// [`begin_call`](crate::engine::LiveHandle::begin_call). The call goes on by itself. A desk
    /// makes no call.
    Call {
        /// The session.
        session: SessionId,
        /// The name of the tool.
        tool: String,
        /// The arguments, a JSON object. Their numbers keep their digits.
        args: Json,
        /// The idempotency key, 1 to 200 bytes. It is recorded in clear.
        key: String,
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
    /// It is recorded, but what the receipt says beside it could not be read, another process has
    /// not confirmed the pause, or the hold comes too late for a session.
    OnRecordBut(OnRecord, Error),
}

/// The record of an operation.
struct Put {
    seq: Seq,
    /// True if an earlier request with the same key made the call.
    repeated: bool,
    /// The part of the operation that was not achieved.
    but: Option<Error>,
}

impl Put {
    fn whole(seq: Seq) -> Put {
        let (repeated, but) = (false, None);
        Put { seq, repeated, but }
    }

    /// Takes a pause that is recorded, and that another process may not have applied.
    fn pause(paused: Result<Seq, Error>) -> Result<Put, Error> {
        match paused {
            Err(error @ Error::PauseUnconfirmed { at, .. }) => Ok(Put {
                but: Some(error),
                ..Put::whole(at)
            }),
            paused => paused.map(Put::whole),
        }
    }
}

/// The executor of an operation: an engine or a desk.
pub(super) enum Executor<'a> {
    Engine(&'a Engine),
    Desk(&'a Desk),
}

impl Executor<'_> {
    pub(super) async fn operate(&self, operation: Operation, by: Actor) -> Result<Operated, Error> {
        let receipt = Receipt::of(self, &operation, by.clone()).await?;
        match self.put(operation, receipt.tool(), by).await {
            Ok(Put { seq, repeated, but }) => {
                Ok(match (receipt.at(self, seq, repeated).await, but) {
                    (Operated::OnRecord(it), Some(error)) => Operated::OnRecordBut(it, error),
                    (operated, _) => operated,
                })
            }
            Err(Error::Refused(rejection)) => {
                let refusal = Refusal::of(self.ledger(), receipt.session(), &rejection).await;
                Ok(Operated::Refused(refusal))
            }
            Err(Error::HoldRefused(refusal)) => {
                let refusal = Refusal::of_hold(receipt.session(), &refusal);
                Ok(Operated::Refused(refusal))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the outcome of an operation that another process has recorded.
    pub(super) async fn operated(
        &self,
        operation: &Operation,
        by: Actor,
        at: Seq,
    ) -> Result<Operated, Error> {
        let receipt = Receipt::of(self, operation, by).await?;
        Ok(receipt.at(self, at, false).await)
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
            | Operation::Cancel { session, call, .. }
            | Operation::Claim { session, call, .. } => Ok((*session, Some(*call))),
            Operation::Client { key, .. } => Ok((key.session, Some(key.call))),
            Operation::RevokeLeave { session, leave, .. } => Ok((
                *session,
                self.ledger().call_of_answer(*session, *leave).await?,
            )),
            Operation::Call { session, .. } | Operation::Close { session, .. } => {
                Ok((*session, None))
            }
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

    async fn put(&self, operation: Operation, tool: String, by: Actor) -> Result<Put, Error> {
        let recorded = match operation {
            Operation::Call {
                session,
                tool,
                args,
                key,
            } => {
                let begun = self.call(session, (&tool, args, &key), by).await?;
                let (repeated, put) = (begun.repeated, Put::whole(begun.call));
                return Ok(Put { repeated, ..put });
            }
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
            } => {
                let cancel = cancel_running;
                return Put::pause(match self {
                    Executor::Engine(it) => it.pause(target, reason, cancel, by).await,
                    Executor::Desk(desk) => desk.pause(target, reason, cancel, by).await,
                });
            }
            Operation::Unpause { target, reason } => match self {
                Executor::Engine(engine) => engine.unpause(target, reason, by).await,
                Executor::Desk(desk) => desk.unpause(target, reason, by).await,
            },
            Operation::PlaceHold { target, reason } => {
                return self.place_hold(target, reason, by).await;
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
            Operation::Claim {
                session,
                call,
                claim,
                lease,
            } => {
                let command = claim_of(call, claim, lease.until(self.now()), by);
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
        };
        recorded.map(Put::whole)
    }

    async fn place_hold(
        &self,
        target: HoldTarget,
        reason: String,
        by: Actor,
    ) -> Result<Put, Error> {
        let ledger = self.ledger();
        let placed = ledger.place_hold(target, reason, by, self.now()).await??;
        // A label may be one of a session that another process is erasing.
        let but = ledger.late_hold(placed.id).await?.map(Error::from);
        let put = Put::whole(placed.id);
        Ok(Put { but, ..put })
    }

    async fn call(
        &self,
        session: SessionId,
        (tool, args, key): (&str, Json, &str),
        by: Actor,
    ) -> Result<BegunCall, Error> {
        let engine = match self {
            Executor::Engine(engine) => engine,
            Executor::Desk(_) => {
                let mistake = "a desk has no tools, so it makes no call".to_owned();
                return Err(Error::Configuration {
                    mistakes: vec![mistake],
                });
            }
        };
        // The end of this handle ends nothing.
        let handle = engine.reopen(session).await?.releasing();
        handle.begin_call(tool, args, key, by).await
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

    pub(super) fn ledger(&self) -> &Ledger {
        match self {
            Executor::Engine(engine) => engine.ledger(),
            Executor::Desk(desk) => &desk.ledger,
        }
    }
}
