//! The operations of an operator: at the desk of a journal that is open here, or through the
//! service that has it open. Both return the record, or the refusal.

use serde::Serialize;
use serde_json::value::RawValue;

use super::members::Members;
use crate::failures::{Failure, refused, unanswered};
use crate::journal::{Source, os_user};
use recount::control::{self, Client, OnRecord, OneAnswer, OneOutcome, Request, Unanswered};
use recount::engine::{
    ClaimKey, ClaimRequest, ClaimedCall, ClientAction, Desk, Operated, Operation, SystemClock,
};
use recount::ledger::{HoldTarget, Ledger, PauseTarget};
use recount::session::{Finding, Json, RequestId, Seq, SessionId, UnfitAnswer};
use recount::tool::{Ticket, ToolConfirmation};

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

    /// Gives one answer to several requests, and returns the outcome of each.
    pub(super) async fn answer_many(
        &mut self,
        requests: Vec<RequestId>,
        answer: &Members,
        claimed: Option<String>,
    ) -> Result<Vec<Outcome>, Failure> {
        let answer = raw(answer)?;
        match self {
            Source::Journal(ledger) => {
                let given = control::confirmation(&answer);
                at_desk_each(ledger, requests, &given, claimed).await
            }
            Source::Service(client) => {
                let request = Request::AnswerMany {
                    requests,
                    answer,
                    claimed,
                };
                at_service_each(client, &request).await
            }
        }
    }

    /// Denies every request that is open in the session now, and returns the outcome of each.
    pub(super) async fn deny_all(
        &mut self,
        session: SessionId,
        reason: Option<String>,
        claimed: Option<String>,
    ) -> Result<Vec<Outcome>, Failure> {
        match self {
            Source::Journal(ledger) => {
                let open = ledger.pending_in(session).await?;
                let open = open.into_iter().map(|it| it.id).collect();
                let denial = reason.map_or_else(ToolConfirmation::default, |reason| {
                    ToolConfirmation::denied(reason)
                });
                at_desk_each(ledger, open, &Ok(denial), claimed).await
            }
            Source::Service(client) => {
                let request = Request::DenyAll {
                    session,
                    reason,
                    claimed,
                };
                at_service_each(client, &request).await
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

    /// Pauses sessions or a tool, as the user of this process or with the claimed name.
    pub(super) async fn pause(
        &mut self,
        target: PauseTarget,
        reason: Option<String>,
        cancel_running: bool,
        claimed: Option<String>,
    ) -> Result<OnRecord, Failure> {
        match self {
            Source::Journal(ledger) => {
                let operation = Operation::Pause {
                    target,
                    reason,
                    cancel_running,
                };
                at_desk(ledger, operation, claimed).await
            }
            Source::Service(client) => {
                let request = Request::Pause {
                    target,
                    reason,
                    cancel_running,
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

    /// Places a legal hold, as the user of this process or with the claimed name.
    pub(super) async fn place_hold(
        &mut self,
        target: HoldTarget,
        reason: String,
        claimed: Option<String>,
    ) -> Result<OnRecord, Failure> {
        match self {
            Source::Journal(ledger) => {
                at_desk(ledger, Operation::PlaceHold { target, reason }, claimed).await
            }
            Source::Service(client) => {
                let request = Request::PlaceHold {
                    target,
                    reason,
                    claimed,
                };
                at_service(client, &request).await
            }
        }
    }

    /// Releases a legal hold, as the user of this process or with the claimed name.
    pub(super) async fn release_hold(
        &mut self,
        hold: Seq,
        reason: String,
        claimed: Option<String>,
    ) -> Result<OnRecord, Failure> {
        match self {
            Source::Journal(ledger) => {
                at_desk(ledger, Operation::ReleaseHold { hold, reason }, claimed).await
            }
            Source::Service(client) => {
                let request = Request::ReleaseHold {
                    hold,
                    reason,
                    claimed,
                };
                at_service(client, &request).await
            }
        }
    }

    /// Ends a pause, as the user of this process or with the claimed name.
    pub(super) async fn unpause(
        &mut self,
        target: PauseTarget,
        reason: Option<String>,
        claimed: Option<String>,
    ) -> Result<OnRecord, Failure> {
        match self {
            Source::Journal(ledger) => {
                let operation = Operation::Unpause { target, reason };
                at_desk(ledger, operation, claimed).await
            }
            Source::Service(client) => {
                let request = Request::Unpause {
                    target,
                    reason,
                    claimed,
                };
                at_service(client, &request).await
            }
        }
    }
}

/// The outcome of one of several answers: its record, or the failure.
pub(super) type Outcome = (RequestId, Result<OnRecord, Failure>);

/// Gives one answer to each request of the journal that is open here.
async fn at_desk_each(
    ledger: &Ledger,
    requests: Vec<RequestId>,
    given: &Result<ToolConfirmation, UnfitAnswer>,
    claimed: Option<String>,
) -> Result<Vec<Outcome>, Failure> {
    // A name that cannot be recorded is the same failure for all of them.
    os_user::actor(claimed.clone())?;
    let mut outcomes = Vec::with_capacity(requests.len());
    for request in requests {
        let given = given.clone();
        let operation = Operation::Answer { request, given };
        let outcome = at_desk(ledger, operation, claimed.clone()).await;
        outcomes.push((request, outcome));
    }
    Ok(outcomes)
}

/// Sends a request that has an outcome for each of several answers.
async fn at_service_each(client: &mut Client, request: &Request) -> Result<Vec<Outcome>, Failure> {
    let pid = client.pid();
    let answers = client.items::<OneAnswer>(request).await;
    let answers = answers.map_err(|error| unanswered(pid, error))?;
    let outcome = |it: OneAnswer| {
        let outcome = match it.outcome {
            OneOutcome::Done(on_record) => Ok(on_record),
            OneOutcome::Refused(refusal) => Err(refused(&refusal)),
            OneOutcome::Error(problem) => Err(unanswered(pid, Unanswered::Failed(problem))),
        };
        (it.request, outcome)
    };
    Ok(answers.into_iter().map(outcome).collect())
}

impl Source {
    /// Claims a call for a client, as the user of this process or with the claimed name.
    pub(super) async fn claim(
        &mut self,
        request: &ClaimRequest,
        claimed: Option<String>,
    ) -> Result<Option<ClaimedCall>, Failure> {
        match self {
            Source::Journal(ledger) => {
                let by = os_user::actor(claimed)?;
                let desk = Desk::new(ledger.clone(), SystemClock::shared());
                Ok(desk.claim(request, by).await?)
            }
            Source::Service(client) => {
                let request = Request::Claim {
                    claim: request.claim.clone(),
                    tools: request.tools.clone(),
                    agents: request.agents.clone(),
                    labels: request.labels.clone(),
                    lease_ms: request.lease.millis(),
                    session: request.call.map(|(session, _)| session),
                    call: request.call.map(|(_, call)| call),
                    claimed,
                };
                let items = client.items(&request).await;
                let mut items = items.map_err(|error| unanswered(client.pid(), error))?;
                Ok(items.pop())
            }
        }
    }

    /// Does what the client of a call asks, as the user of this process or with the claimed name.
    pub(super) async fn act_for_client(
        &mut self,
        key: ClaimKey,
        action: ClientAction,
        claimed: Option<String>,
    ) -> Result<OnRecord, Failure> {
        match self {
            Source::Journal(ledger) => {
                at_desk(ledger, Operation::Client { key, action }, claimed).await
            }
            Source::Service(client) => {
                let request = match action {
                    ClientAction::Renew(lease) => Request::Renew {
                        key,
                        lease_ms: lease.millis(),
                        claimed,
                    },
                    ClientAction::End { reason, not_begun } => Request::EndClaim {
                        key,
                        reason,
                        not_begun,
                        claimed,
                    },
                    ClientAction::Return(Ok(result)) => Request::Finish {
                        key,
                        result: Some(raw(&result)?),
                        failed: None,
                        claimed,
                    },
                    ClientAction::Return(Err(reason)) => Request::Finish {
                        key,
                        result: None,
                        failed: Some(reason),
                        claimed,
                    },
                    ClientAction::Yield(response) => Request::Yield {
                        key,
                        response: raw(&response)?,
                        claimed,
                    },
                    ClientAction::Report { name, data } => Request::Report {
                        key,
                        name,
                        data: raw(&data)?,
                        claimed,
                    },
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
