//! The operations of an operator: at the desk of a journal that is open here, or through the
//! service that has it open. Both return the record, or the refusal.

use serde::Serialize;
use serde_json::value::RawValue;

use super::members::Members;
use crate::failures::{Failure, refused, unanswered};
use crate::journal::{Source, os_user};
use recount::control::{self, Client, OnRecord, Request};
use recount::engine::{Desk, Operated, Operation, SystemClock};
use recount::ledger::Ledger;
use recount::session::{Finding, Json, RequestId, Seq, SessionId};
use recount::tool::Ticket;

impl Source {
    /// Answers a request, as the user of this process or with the claimed name.
    ///
    /// The members are read by the same rules here and in a service. The refusal of invalid members
    /// is recorded.
    pub(super) async fn answer(
        &mut self,
        request: RequestId,
        answer: &Members,
        claimed: Option<String>,
    ) -> Result<OnRecord, Failure> {
        let answer = raw(answer)?;
        match self {
            Source::Journal(ledger) => {
                let given = control::confirmation(&answer);
                at_desk(ledger, Operation::Answer { request, given }, claimed).await
            }
            Source::Service(client) => {
                let request = Request::Answer {
                    request,
                    answer,
                    claimed,
                };
                at_service(client, &request).await
            }
        }
    }

    /// Gives the result of a paused call, as the user of this process or with the claimed name.
    pub(super) async fn respond(
        &mut self,
        ticket: Ticket,
        response: Json,
        interim: bool,
        claimed: Option<String>,
    ) -> Result<OnRecord, Failure> {
        match self {
            Source::Journal(ledger) => {
                let operation = Operation::Respond {
                    ticket,
                    response,
                    interim,
                };
                at_desk(ledger, operation, claimed).await
            }
            Source::Service(client) => {
                let request = Request::Respond {
                    ticket,
                    response: raw(&response)?,
                    interim,
                    claimed,
                };
                at_service(client, &request).await
            }
        }
    }

    /// Records the real outcome of a call, as the user of this process or with the claimed name.
    pub(super) async fn reconcile(
        &mut self,
        session: SessionId,
        call: Seq,
        found: Finding,
        claimed: Option<String>,
    ) -> Result<OnRecord, Failure> {
        match self {
            Source::Journal(ledger) => {
                let operation = Operation::Reconcile {
                    session,
                    call,
                    found,
                };
                at_desk(ledger, operation, claimed).await
            }
            Source::Service(client) => {
                let request = Request::Reconcile {
                    session,
                    call,
                    found: raw(&found)?,
                    claimed,
                };
                at_service(client, &request).await
            }
        }
    }

    /// Cancels an open call, as the user of this process or with the claimed name.
    pub(super) async fn cancel(
        &mut self,
        session: SessionId,
        call: Seq,
        reason: Option<String>,
        claimed: Option<String>,
    ) -> Result<OnRecord, Failure> {
        match self {
            Source::Journal(ledger) => {
                let operation = Operation::Cancel {
                    session,
                    call,
                    reason,
                };
                at_desk(ledger, operation, claimed).await
            }
            Source::Service(client) => {
                let request = Request::Cancel {
                    session,
                    call,
                    reason,
                    claimed,
                };
                at_service(client, &request).await
            }
        }
    }

    /// Revokes a standing leave, as the user of this process or with the claimed name.
    pub(super) async fn revoke(
        &mut self,
        session: SessionId,
        leave: Seq,
        reason: Option<String>,
        claimed: Option<String>,
    ) -> Result<OnRecord, Failure> {
        match self {
            Source::Journal(ledger) => {
                let operation = Operation::RevokeLeave {
                    session,
                    leave,
                    reason,
                };
                at_desk(ledger, operation, claimed).await
            }
            Source::Service(client) => {
                let request = Request::Revoke {
                    session,
                    leave,
                    reason,
                    claimed,
                };
                at_service(client, &request).await
            }
        }
    }
}

/// Does an operation on the journal that is open here.
async fn at_desk(
    ledger: &Ledger,
    operation: Operation,
    claimed: Option<String>,
) -> Result<OnRecord, Failure> {
    let by = os_user::actor(claimed)?;
    let desk = Desk::new(ledger.clone(), SystemClock::shared());
    match desk.operate(operation, by).await? {
        Operated::OnRecord(on_record) => Ok(on_record),
        Operated::Refused(refusal) => Err(refused(&refusal)),
        Operated::OnRecordBut(on_record, error) => {
            Err(Failure::from(error).behind_record(&on_record))
        }
    }
}

/// Does an operation through the service.
async fn at_service(client: &mut Client, request: &Request) -> Result<OnRecord, Failure> {
    let done = client.done(request).await;
    done.and_then(|done| control::read(&done))
        .map_err(|error| unanswered(client.pid(), error))
}

fn raw(value: &impl Serialize) -> Result<Box<RawValue>, Failure> {
    serde_json::value::to_raw_value(value)
        .map_err(|error| Failure::new("broken", format!("failed to write JSON: {error}")))
}
