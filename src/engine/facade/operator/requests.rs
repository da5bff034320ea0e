//! The operators' requests to a running engine.
//!
//! The control server has authenticated the client by the token, which only the user of this
//! process can read. So the client is that user, whatever a message says. A name claimed in a
//! message is recorded as unauthenticated.

use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError};

use recount_journal as journal;
use uuid::Uuid;

use crate::control::{
    Handler, Items, LogItem, NamedId, Problem, ReaderGone, Reply, Request, Server, Waiting,
    checked, confirmation, finding, os_user, wrong_with_name,
};
use crate::engine::error::Error;
use crate::engine::operations::operation::{Operated, Operation};
use crate::engine::serving::engine::{Engine, Inner};
use crate::ledger::{self, Ledger};
use crate::session::{Actor, Seq, SessionId};
use recount_journal::causes;

/// The number of records read at a time.
const PAGE: usize = 256;

impl Engine {
    /// Starts the control server in `directory`. An engine that cannot start it serves without.
    pub(in crate::engine::facade) fn start_control(&self, directory: &Path) {
        match Server::start(directory, handler(&self.inner)) {
            Ok(server) => *self.control() = Some(server),
            Err(error) => {
                let directory = directory.display();
                tracing::warn!(%error, %directory, "no operator can reach this engine");
            }
        }
    }

    /// Stops the control server after its current requests.
    pub(in crate::engine::facade) async fn stop_control(&self) {
        let server = self.control().take();
        if let Some(server) = server {
            server.end().await;
        }
    }

    fn control(&self) -> std::sync::MutexGuard<'_, Option<Server>> {
        let control = self.inner.control.lock();
        control.unwrap_or_else(PoisonError::into_inner)
    }

    async fn handle_request(self, request: Request, items: &Items) -> Result<Reply, Failed> {
        self.note_look(&request).await?;
        match request {
            Request::Pending {} => {
                for it in self.pending().await? {
                    items.send(&Waiting::Confirmation(Box::new(it))).await?;
                }
                for it in self.paused().await? {
                    items.send(&Waiting::Paused(it)).await?;
                }
                Ok(Reply::done(&serde_json::Map::new()))
            }
            Request::Sessions { rules } => {
                let sessions = match rules {
                    true => self.inner.ledger.sessions_with_rules().await?,
                    false => self.sessions().await?,
                };
                for it in sessions {
                    items.send(&it).await?;
                }
                Ok(Reply::done(&serde_json::Map::new()))
            }
            Request::Named { digits } => self.name(&digits, items).await,
            Request::Answer {
                request,
                answer,
                claimed,
            } => {
                let given = confirmation(&answer);
                let operation = Operation::Answer { request, given };
                self.operated(operation, claimed).await
            }
            Request::AnswerMany {
                requests,
                answer,
                claimed,
            } => self.answer_each(requests, &answer, claimed, items).await,
            Request::DenyAll {
                session,
                reason,
                claimed,
            } => self.deny_each(session, reason, claimed, items).await,
            Request::Respond {
                ticket,
                response,
                interim,
                claimed,
            } => {
                let operation = Operation::Respond {
                    ticket,
                    response: checked(&response)?,
                    interim,
                };
                self.operated(operation, claimed).await
            }
            Request::Reconcile {
                session,
                call,
                found,
                claimed,
            } => {
                let operation = Operation::Reconcile {
                    session,
                    call,
                    found: finding(&found)?,
                };
                self.operated(operation, claimed).await
            }
            Request::Cancel {
                session,
                call,
                reason,
                claimed,
            } => {
                let operation = Operation::Cancel {
                    session,
                    call,
                    reason,
                };
                self.operated(operation, claimed).await
            }
            Request::Leaves {} => {
                for it in self.standing_leaves().await? {
                    items.send(&it).await?;
                }
                Ok(Reply::done(&serde_json::Map::new()))
            }
            Request::Revoke {
                session,
                leave,
                reason,
                claimed,
            } => {
                let operation = Operation::RevokeLeave {
                    session,
                    leave,
                    reason,
                };
                self.operated(operation, claimed).await
            }
            Request::Pauses {} => {
                for it in self.pauses().await? {
                    items.send(&it).await?;
                }
                Ok(Reply::done(&serde_json::Map::new()))
            }
            Request::Pause {
                target,
                reason,
                cancel_running,
                claimed,
            } => {
                let operation = Operation::Pause {
                    target,
                    reason,
                    cancel_running,
                };
                self.operated(operation, claimed).await
            }
            Request::Unpause {
                target,
                reason,
                claimed,
            } => {
                let operation = Operation::Unpause { target, reason };
                self.operated(operation, claimed).await
            }
            Request::Holds { all } => {
                let holds = match all {
                    true => self.ledger().holds_on_record().await?,
                    false => self.ledger().holds().await?,
                };
                for it in holds {
                    items.send(&it).await?;
                }
                Ok(Reply::done(&serde_json::Map::new()))
            }
            Request::PlaceHold {
                target,
                reason,
                claimed,
            } => {
                let operation = Operation::PlaceHold { target, reason };
                self.operated(operation, claimed).await
            }
            Request::ReleaseHold {
                hold,
                reason,
                claimed,
            } => {
                let operation = Operation::ReleaseHold { hold, reason };
                self.operated(operation, claimed).await
            }
            Request::Claim { .. }
            | Request::Renew { .. }
            | Request::Finish { .. }
            | Request::Yield { .. }
            | Request::Report { .. }
            | Request::EndClaim { .. } => self.request_of_client(request, items).await,
            Request::Reload {} => self.reload().await,
            Request::Log {
                session,
                from,
                follow,
            } => {
                let ledger = self.ledger().clone();
                // A client that only reads the log must not keep the engine alive.
                drop(self);
                log(&ledger, session, from, follow, items).await
            }
        }
    }

    /// Notes a request that reads sessions, if the embedding program wants that.
    async fn note_look(&self, request: &Request) -> Result<(), Failed> {
        let Some(on_look) = self.inner.on_look.get() else {
            return Ok(());
        };
        let Some(look) = request.look(actor(None).await?) else {
            return Ok(());
        };
        let refused = |error| Problem::new("read_not_recorded", error);
        Ok(on_look(look).await.map_err(refused)?)
    }

    /// Lists the requests and calls whose ids start with `digits`.
    async fn name(&self, digits: &str, items: &Items) -> Result<Reply, Failed> {
        let is_digit = |it: u8| matches!(it, b'0'..=b'9' | b'a'..=b'f');
        if !(4..=32).contains(&digits.len()) || !digits.bytes().all(is_digit) {
            let told = "expected 4 to 32 hexadecimal digits in lower case";
            return Err(Problem::new("bad_request", told).into());
        }
        let fits = |id: Uuid| id.simple().to_string().starts_with(digits);
        for it in self.ledger().requests_named(|id| fits(id.0)).await? {
            items.send(&NamedId::Request(it.id)).await?;
        }
        for it in self.ledger().calls_named(|id| fits(id.0)).await? {
            items.send(&NamedId::Call(it)).await?;
        }
        Ok(Reply::done(&serde_json::Map::new()))
    }

    /// Reads the configuration anew, if the embedding program can.
    async fn reload(&self) -> Result<Reply, Failed> {
        let Some(reload) = self.inner.reload.get() else {
            let told = "this service has no configuration that it can read anew";
            return Err(Problem::new("not_offered", told).into());
        };
        Ok(Reply::done(&reload(self.clone()).await))
    }

    /// Carries out an operation as the user of this process, or under the claimed name.
    pub(super) async fn operated(
        &self,
        operation: Operation,
        claimed: Option<String>,
    ) -> Result<Reply, Failed> {
        let by = actor(claimed).await?;
        match self.operate(operation, by).await? {
            Operated::OnRecord(on_record) => Ok(Reply::done(&on_record)),
            Operated::Refused(refusal) => Ok(Reply::Refused(refusal)),
            Operated::OnRecordBut(on_record, error) => {
                Err(behind_record(on_record.seq, &error).into())
            }
        }
    }
}

fn handler(engine: &Arc<Inner>) -> Handler {
    // The control server alone does not keep a dropped engine alive.
    let engine = Arc::downgrade(engine);
    Arc::new(move |request, items| {
        let engine = engine.upgrade().map(Engine::of);
        Box::pin(async move {
            let Some(engine) = engine else {
                return Reply::Error(problem(&Error::ShutDown));
            };
            match engine.handle_request(request, &items).await {
                Ok(reply) => reply,
                Err(Failed::Engine(error)) => Reply::Error(problem(&error)),
                Err(Failed::Message(problem)) => Reply::Error(problem),
                // The client is gone, so it does not read this.
                Err(Failed::ReaderGone) => Reply::done(&serde_json::Map::new()),
            }
        })
    })
}

/// The reason why a request failed.
pub(super) enum Failed {
    Engine(Error),
    /// The message is invalid.
    Message(Problem),
    /// The client is gone.
    ReaderGone,
}

impl<E: Into<Error>> From<E> for Failed {
    fn from(error: E) -> Failed {
        Failed::Engine(error.into())
    }
}

impl From<Problem> for Failed {
    fn from(problem: Problem) -> Failed {
        Failed::Message(problem)
    }
}

impl From<ReaderGone> for Failed {
    fn from(_: ReaderGone) -> Failed {
        Failed::ReaderGone
    }
}

/// Sends the records of a session from `from` on, and new ones if `follow` is set.
async fn log(
    ledger: &Ledger,
    session: SessionId,
    from: Seq,
    follow: bool,
    items: &Items,
) -> Result<Reply, Failed> {
    if ledger.journal().head(session.0).await?.is_none() {
        return Err(ledger::Error::UnknownSession { session }.into());
    }
    // Taken before the first read, so that records appended meanwhile are either read or followed.
    let mut position = ledger.journal().position().await?;
    let mut next = Seq(from.0.max(1));
    loop {
        loop {
            let entries = ledger.entries(session, next, PAGE).await?;
            let Some(last) = entries.last() else { break };
            next = last.seq.next();
            for entry in &entries {
                items.send(&LogItem::of(entry)?).await?;
            }
        }
        if !follow {
            return Ok(Reply::done(&serde_json::Map::new()));
        }
        loop {
            let commit = ledger.journal().follow(position).await?;
            position = commit.position;
            let concerns = |(of, _): &(uuid::Uuid, Vec<journal::Line>)| *of == session.0;
            if commit.appends.iter().any(concerns) {
                break;
            }
        }
    }
}

/// Returns the user of this process, or the claimed name.
pub(super) async fn actor(claimed: Option<String>) -> Result<Actor, Problem> {
    static USER: OnceLock<String> = OnceLock::new();
    if let Some(name) = claimed {
        if let Some(wrong) = wrong_with_name(&name) {
            return Err(Problem::new("bad_request", wrong));
        }
        return Ok(Actor::unverified(name));
    }
    let name = match USER.get() {
        Some(name) => name.clone(),
        None => {
            // It runs a program, so it must not block a thread that serves sessions.
            let asked = tokio::task::spawn_blocking(os_user::current).await;
            let name = asked.ok().flatten().ok_or_else(|| {
                Problem::new(
                    "unknown_user",
                    "the system does not say who the service runs as",
                )
            })?;
            USER.get_or_init(|| name).clone()
        }
    };
    Ok(Actor::token(name))
}

/// Returns an error in the form for an operator.
pub(super) fn problem(error: &Error) -> Problem {
    let code = match error {
        Error::UnknownRequest { .. } => "unknown_request",
        Error::UnknownCall { .. } => "unknown_call",
        Error::UnknownAgent { .. } => "unknown_agent",
        Error::HookMissing { .. } => "hook_missing",
        Error::Ledger(ledger::Error::UnknownSession { .. }) => "unknown_session",
        Error::Ledger(ledger::Error::Sealed { .. } | ledger::Error::NoKeyStore { .. }) => "sealed",
        Error::Ledger(ledger::Error::Journal(journal::Error::NoSpace { .. })) => "no_space",
        Error::Ledger(_) => "journal",
        Error::Message(_) | Error::PartlyTaken { .. } => "client_message",
        Error::PauseUnconfirmed { .. } => "pause_unconfirmed",
        // No message here has an id beside its ticket.
        Error::WrongId { .. }
        | Error::Refused(_)
        | Error::RefusedElsewhere(_)
        | Error::HoldRefused(_)
        | Error::Connect(_)
        | Error::Configuration { .. }
        | Error::OtherKeyStore { .. }
        | Error::AlreadyConnected { .. }
        | Error::NotConnected { .. }
        | Error::Stopped { .. }
        | Error::ShutDown => "engine",
    };
    Problem::new(code, causes(error))
}

/// Returns the error of an operation that is recorded nevertheless. Its text adds the record.
pub(super) fn behind_record(seq: Seq, error: &Error) -> Problem {
    let Problem { code, text } = problem(error);
    Problem::new(&code, format!("it is on record at seq {seq}, but {text}"))
}
