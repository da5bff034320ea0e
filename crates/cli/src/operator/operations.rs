//! The operations of an operator, each at the desk over the journal that is open here, or at the
//! control door of the service that has it open. Either says what is on record, or why nothing is.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::failures::{Failure, refused, unanswered};
use crate::journal::{Source, os_user};
use recount::control::{self, Client, OnRecord, Refusal, Request};
use recount::engine::{self, Desk, SystemClock};
use recount::ledger::Ledger;
use recount::session::{Actor, Finding, Json, ObjectHash, RequestId, Seq, SessionId};
use recount::tool::Ticket;

/// An answer to a confirmation request.
pub(super) enum Said {
    /// Yes or no.
    Answer(Decided),
    /// What became of a call in doubt.
    Found(Finding),
}

/// A yes or a no, as the service reads it.
#[derive(Serialize)]
pub(super) struct Decided {
    pub(super) confirmed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// Something for the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) payload: Option<Json>,
    /// Arguments in place of the model's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) args: Option<Json>,
    /// The request that was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_hash: Option<ObjectHash>,
}

impl Said {
    /// As the service reads it.
    fn message(&self) -> Result<Box<RawValue>, Failure> {
        #[derive(Serialize)]
        struct Settled<'a> {
            found: &'a Finding,
        }
        match self {
            Said::Answer(decided) => raw(decided),
            Said::Found(found) => raw(&Settled { found }),
        }
    }
}

impl Source {
    /// Answers a request, as the user of this process or whoever that claims to be.
    pub(super) async fn answer(
        &mut self,
        request: RequestId,
        said: Said,
        claimed: Option<String>,
    ) -> Result<OnRecord, Failure> {
        let answer = said.message()?;
        match self {
            Source::Journal(ledger) => {
                let given = control::confirmation(&answer);
                let by = os_user::actor(claimed)?;
                let named = ledger.journal().request(request.0).await?;
                let (session, call) = named.ok_or(engine::Error::UnknownRequest { request })?;
                let (session, call) = (SessionId(session), Seq(call));
                let tool = ledger.tool_of(session, call).await?.unwrap_or_default();
                let desk = Desk::new(ledger.clone(), SystemClock::shared());
                let answered = desk.answer_as(request, given, by.clone()).await;
                taken(ledger, session, tool, by, answered).await
            }
            Source::Service(client) => {
                let request = Request::Answer {
                    request,
                    answer,
                    claimed,
                };
                told(client, &request).await
            }
        }
    }

    /// Gives the result of a paused call, as the user of this process or whoever that claims to be.
    pub(super) async fn respond(
        &mut self,
        ticket: Ticket,
        response: Json,
        interim: bool,
        claimed: Option<String>,
    ) -> Result<OnRecord, Failure> {
        match self {
            Source::Journal(ledger) => {
                let by = os_user::actor(claimed)?;
                let desk = Desk::new(ledger.clone(), SystemClock::shared());
                let name = ticket.tool.clone();
                let (session, supply) =
                    engine::supplies_json(&ticket, name, response, interim, by.clone());
                let supplied = desk.take(session, supply).await;
                taken(ledger, session, ticket.tool, by, supplied).await
            }
            Source::Service(client) => {
                let request = Request::Respond {
                    ticket,
                    response: raw(&response)?,
                    interim,
                    claimed,
                };
                told(client, &request).await
            }
        }
    }

    /// Says what became of a call whose outcome was unknown, as the user of this process or whoever that claims to be.
    pub(super) async fn reconcile(
        &mut self,
        session: SessionId,
        call: Seq,
        found: Finding,
        claimed: Option<String>,
    ) -> Result<OnRecord, Failure> {
        match self {
            Source::Journal(ledger) => {
                let by = os_user::actor(claimed)?;
                let tool = ledger.tool_of(session, call).await?.unwrap_or_default();
                let ticket = Ticket {
                    session,
                    call,
                    tool: tool.clone(),
                };
                let desk = Desk::new(ledger.clone(), SystemClock::shared());
                let reconciled = desk.reconcile(&ticket, found, by.clone()).await;
                taken(ledger, session, tool, by, reconciled).await
            }
            Source::Service(client) => {
                let request = Request::Reconcile {
                    session,
                    call,
                    found: raw(&found)?,
                    claimed,
                };
                told(client, &request).await
            }
        }
    }

    /// Takes back an open call, as the user of this process or whoever that claims to be.
    pub(super) async fn cancel(
        &mut self,
        session: SessionId,
        call: Seq,
        reason: Option<String>,
        claimed: Option<String>,
    ) -> Result<OnRecord, Failure> {
        match self {
            Source::Journal(ledger) => {
                let by = os_user::actor(claimed)?;
                let tool = ledger.tool_of(session, call).await?.unwrap_or_default();
                let desk = Desk::new(ledger.clone(), SystemClock::shared());
                let cancelled = desk.cancel(session, call, reason, by.clone()).await;
                let mut on_record = taken(ledger, session, tool, by, cancelled).await?;
                let attempts = ledger.attempts_of(session, call).await;
                let attempts = attempts.map_err(Failure::from);
                on_record.attempts = attempts.map_err(|it| it.behind_record(&on_record))?;
                Ok(on_record)
            }
            Source::Service(client) => {
                let request = Request::Cancel {
                    session,
                    call,
                    reason,
                    claimed,
                };
                told(client, &request).await
            }
        }
    }
}

async fn told(client: &mut Client, request: &Request) -> Result<OnRecord, Failure> {
    let done = client.done(request).await;
    done.and_then(|done| control::read(&done))
        .map_err(|error| unanswered(client.pid(), error))
}

fn raw(value: &impl Serialize) -> Result<Box<RawValue>, Failure> {
    serde_json::value::to_raw_value(value)
        .map_err(|error| Failure::new("broken", format!("failed to write JSON: {error}")))
}

/// What the desk has put on record about a call of `tool`, or what stands against it where a rule said no.
async fn taken(
    ledger: &Ledger,
    session: SessionId,
    tool: String,
    by: Actor,
    outcome: Result<Seq, engine::Error>,
) -> Result<OnRecord, Failure> {
    match outcome {
        Ok(seq) => Ok(OnRecord {
            session,
            seq,
            tool,
            by,
            attempts: 0,
        }),
        Err(engine::Error::Refused(rejection)) => {
            let refusal = Refusal::of(ledger, session, &rejection).await;
            Err(refused(&refusal))
        }
        Err(error) => Err(error.into()),
    }
}
