//! Where a command finds the sessions: in the journal, or at the service that has the journal open.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::keys::Keys;
use super::{opening, os_user};
use crate::failures::failure::{Failure, IN_USE, NOT_YOURS};
use crate::failures::service::{out_of_reach, refused, unanswered};
use recount::control::{self, Client, ConnectError, NamedId, OnRecord, Refusal, Request, Waiting};
use recount::engine::{self, Desk, SystemClock};
use recount::ledger::{Ledger, PendingConfirmation, SessionSummary};
use recount::session::{Actor, Finding, Json, ObjectHash, RequestId, Seq, SessionId};
use recount::tool::Ticket;

/// How long a command waits for the journal where nobody who has it answers. Other commands need it for some milliseconds each.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// How long to wait before looking again whether it is free.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How long to wait before knocking again where somebody answers, and has a log in which each knock is a line.
const KNOCK_AGAIN: Duration = Duration::from_millis(500);

/// The sessions of a journal, from here.
pub(crate) enum Source {
    /// Nobody has the journal open but this command.
    Journal(Ledger),
    /// A service has it open, and does what it is asked.
    Service(Box<Client>),
}

/// What somebody says to a confirmation request.
pub(crate) enum Said {
    /// Yes or no.
    Answer(Decided),
    /// What became of a call in doubt.
    Found(Finding),
}

/// A yes or a no, as the service reads it.
#[derive(Serialize)]
pub(crate) struct Decided {
    pub(crate) confirmed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// Something for the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) payload: Option<Json>,
    /// Arguments in place of the model's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) args: Option<Json>,
    /// The request that was seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_hash: Option<ObjectHash>,
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
    /// The journal at `path` to look at, or the service that has it open.
    pub(crate) async fn reading(path: &Path, keys: &Keys) -> Result<Source, Failure> {
        Source::open(path, keys, opening::reading).await
    }

    /// The journal at `path` to add to, or the service that has it open.
    pub(crate) async fn writing(path: &Path, keys: &Keys) -> Result<Source, Failure> {
        Source::open(path, keys, opening::writing).await
    }

    async fn open(
        path: &Path,
        keys: &Keys,
        open: fn(&Path) -> Result<Ledger, Failure>,
    ) -> Result<Source, Failure> {
        let begun = Instant::now();
        let mut refused = None;
        loop {
            let in_use = match open(path) {
                Ok(ledger) => return Ok(Source::Journal(keys.of(ledger)?)),
                Err(failure) if failure.code == IN_USE => failure,
                // The superuser may ask the service of another user, and makes no files there.
                Err(failure) if failure.code == NOT_YOURS => {
                    let service = Client::connect(path).await;
                    return service
                        .map(|client| Source::Service(Box::new(client)))
                        .map_err(|_| failure);
                }
                Err(failure) => return Err(failure),
            };
            if let Some(refused) = refused.filter(|_| begun.elapsed() >= PATIENCE) {
                return Err(refused);
            }
            // Whoever has it may be another command, a service that begins and does not listen yet, or one that ends; what the
            // file says that a killed one has left is no reason not to look again.
            let error = match Client::connect(path).await {
                Ok(client) => return Ok(Source::Service(Box::new(client))),
                Err(error) => error,
            };
            let answers = matches!(
                error,
                ConnectError::Busy { .. } | ConnectError::Refused { .. }
            );
            tokio::time::sleep(if answers { KNOCK_AGAIN } else { LOOK_AGAIN }).await;
            refused = Some(out_of_reach(in_use, &error));
        }
    }

    /// The process of the service, where there is one.
    pub(crate) fn service(&self) -> Option<u32> {
        match self {
            Source::Journal(_) => None,
            Source::Service(client) => Some(client.pid()),
        }
    }

    /// What waits for somebody outside: first for answers, then for responses.
    pub(crate) async fn pending(&mut self) -> Result<Vec<Waiting>, Failure> {
        match self {
            Source::Journal(ledger) => {
                let confirmations = ledger.pending().await?.into_iter();
                let paused = ledger.paused().await?.into_iter();
                let confirmations = confirmations.map(|it| Waiting::Confirmation(Box::new(it)));
                Ok(confirmations.chain(paused.map(Waiting::Paused)).collect())
            }
            Source::Service(client) => {
                let answer = client.items(&Request::Pending {}).await;
                answer.map_err(|error| unanswered(client.pid(), error))
            }
        }
    }

    /// A question that waits for an answer, if that can be found out.
    pub(crate) async fn confirmation(
        &mut self,
        wanted: impl Fn(&PendingConfirmation) -> bool,
    ) -> Option<PendingConfirmation> {
        let waiting = self.pending().await.ok()?.into_iter();
        let mut confirmations = waiting.filter_map(|it| match it {
            Waiting::Confirmation(it) => Some(*it),
            Waiting::Paused(_) => None,
        });
        confirmations.find(wanted)
    }

    /// Every session, oldest first.
    pub(crate) async fn sessions(&mut self) -> Result<Vec<SessionSummary>, Failure> {
        match self {
            Source::Journal(ledger) => Ok(ledger.sessions().await?),
            Source::Service(client) => {
                let answer = client.items(&Request::Sessions {}).await;
                answer.map_err(|error| unanswered(client.pid(), error))
            }
        }
    }

    /// The open requests, by the names they have outside.
    pub(super) async fn open_requests(&mut self) -> Result<Vec<Uuid>, Failure> {
        match self {
            Source::Journal(ledger) => {
                let open = ledger.open_items().await?.into_iter();
                Ok(open.filter_map(|it| it.request).collect())
            }
            Source::Service(_) => {
                let waiting = self.pending().await?.into_iter();
                let requests = waiting.filter_map(|it| match it {
                    Waiting::Confirmation(it) => Some(it.id.0),
                    Waiting::Paused(_) => None,
                });
                Ok(requests.collect())
            }
        }
    }

    /// The requests and calls, open or not, whose ids begin with these digits.
    pub(crate) async fn named(&mut self, digits: &str) -> Result<Vec<NamedId>, Failure> {
        match self {
            Source::Journal(ledger) => {
                let fits = |id: Uuid| id.simple().to_string().starts_with(digits);
                let requests = ledger.requests_named(|id| fits(id.0)).await?;
                let calls = ledger.calls_named(|id| fits(id.0)).await?;
                let requests = requests.into_iter().map(|it| NamedId::Request(it.id));
                Ok(requests
                    .chain(calls.into_iter().map(NamedId::Call))
                    .collect())
            }
            Source::Service(client) => {
                let digits = digits.to_owned();
                let answer = client.items(&Request::Named { digits }).await;
                answer.map_err(|error| unanswered(client.pid(), error))
            }
        }
    }

    /// Answers a request, as the user of this process or whoever that claims to be.
    pub(crate) async fn answer(
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
    pub(crate) async fn respond(
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
    pub(crate) async fn reconcile(
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
    pub(crate) async fn cancel(
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

    /// Lets go of the journal. What was appended is durable by then, so this can only tell that the closing mark is missing.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        match self {
            Source::Journal(ledger) => Ok(ledger.journal().close().await?),
            Source::Service(_) => Ok(()),
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
