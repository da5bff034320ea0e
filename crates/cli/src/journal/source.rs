//! The source of sessions for a command: a journal, or the service that has it open.

use std::time::{Duration, Instant};

use uuid::Uuid;

use super::keys::Keys;
use super::{Location, opening};
use crate::failures::{Failure, IN_USE, NOT_YOURS, out_of_reach, unanswered};
use crate::terminal::Screen;
use recount::control::{Client, ConnectError, NamedId, Request, Unanswered, Waiting};
use recount::engine::{Desk, SystemClock};
use recount::ledger::{
    Hold, LeaveInForce, Ledger, ListedPause, PendingConfirmation, SessionSummary,
};
use recount::session::{CallId, Seq, SessionId};

/// The time that a command waits for a journal in use whose process does not answer.
///
/// Other commands have a journal open for some milliseconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// The pause before the next attempt to open a journal in use.
pub(crate) const RETRY_OPEN: Duration = Duration::from_millis(20);

/// The pause before the next connection to a service that answered with a refusal.
///
/// It is longer, because the service logs each connection.
const RETRY_CONNECT: Duration = Duration::from_millis(500);

/// The source of the sessions. The operations of an operator are in `operator/operations`.
pub(crate) enum Source {
    /// The journal, which only this command has open.
    Journal(Ledger),
    /// The service that has the journal open.
    Service(Box<Client>),
}

impl Source {
    /// Opens the journal or the export at a location to read it, or connects to the service that
    /// has its directory open.
    pub(crate) async fn reading(
        at: &Location,
        keys: &Keys,
        screen: &Screen,
    ) -> Result<Source, Failure> {
        if at.is_export() {
            return Ok(Source::Journal(opening::looking(at, keys, screen)?));
        }
        Source::open(at, keys, opening::reading).await
    }

    /// Opens the journal at a location to add records, or connects to the service that has its
    /// directory open.
    pub(crate) async fn writing(at: &Location, keys: &Keys) -> Result<Source, Failure> {
        Source::open(at, keys, opening::writing).await
    }

    async fn open(
        at: &Location,
        keys: &Keys,
        open: fn(&Location) -> Result<Ledger, Failure>,
    ) -> Result<Source, Failure> {
        let Some(path) = at.path() else {
            // Any number of processes may have a database open.
            return Ok(Source::Journal(keys.of(open(at)?)?));
        };
        let begun = Instant::now();
        let mut refused = None;
        loop {
            let in_use = match open(at) {
                Ok(ledger) => return Ok(Source::Journal(keys.of(ledger)?)),
                Err(failure) if failure.code == IN_USE => failure,
                // The superuser may use the service of another user, and creates no files there.
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
            // The other process may be a command, or a service that starts or ends. Any of them,
            // and the file that a killed service left, is a reason to try again.
            let error = match Client::connect(path).await {
                Ok(client) => return Ok(Source::Service(Box::new(client))),
                Err(error) => error,
            };
            let answers = matches!(
                error,
                ConnectError::Busy { .. } | ConnectError::Refused { .. }
            );
            tokio::time::sleep(if answers { RETRY_CONNECT } else { RETRY_OPEN }).await;
            refused = Some(out_of_reach(in_use, &error));
        }
    }

    /// The process id of the service, if there is one.
    pub(crate) fn service(&self) -> Option<u32> {
        match self {
            Source::Journal(_) => None,
            Source::Service(client) => Some(client.pid()),
        }
    }

    /// The calls that wait: first for approval, then for their results.
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

    /// The first open request for which `wanted` is true; `None` also after an error.
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

    /// The standing leaves in force, oldest session first.
    pub(crate) async fn leaves(&mut self) -> Result<Vec<LeaveInForce>, Failure> {
        match self {
            Source::Journal(ledger) => {
                let desk = Desk::new(ledger.clone(), SystemClock::shared());
                Ok(desk.standing_leaves().await?)
            }
            Source::Service(client) => {
                let answer = client.items(&Request::Leaves {}).await;
                answer.map_err(|error| unanswered(client.pid(), error))
            }
        }
    }

    /// Every session, oldest first.
    pub(crate) async fn sessions(&mut self) -> Result<Vec<SessionSummary>, Failure> {
        match self {
            Source::Journal(ledger) => Ok(ledger.sessions().await?),
            Source::Service(client) => {
                let answer = client.items(&Request::Sessions { rules: false }).await;
                answer.map_err(|error| unanswered(client.pid(), error))
            }
        }
    }

    /// Every session, oldest first, with its rules number. A service of an older version does not
    /// report the number.
    pub(crate) async fn sessions_with_rules(&mut self) -> Result<Vec<SessionSummary>, Failure> {
        match self {
            Source::Journal(ledger) => Ok(ledger.sessions_with_rules().await?),
            Source::Service(client) => {
                match client.items(&Request::Sessions { rules: true }).await {
                    Err(Unanswered::Failed(problem)) if problem.code == "bad_request" => {
                        self.sessions().await
                    }
                    answer => answer.map_err(|error| unanswered(client.pid(), error)),
                }
            }
        }
    }

    /// Every pause in force.
    pub(crate) async fn pauses(&mut self) -> Result<Vec<ListedPause>, Failure> {
        match self {
            Source::Journal(ledger) => Ok(ledger.pauses().await?),
            Source::Service(client) => {
                let answer = client.items(&Request::Pauses {}).await;
                answer.map_err(|error| unanswered(client.pid(), error))
            }
        }
    }

    /// Every legal hold in force, or with `all` every one on record.
    pub(crate) async fn holds(&mut self, all: bool) -> Result<Vec<Hold>, Failure> {
        match self {
            Source::Journal(ledger) if all => Ok(ledger.holds_on_record().await?),
            Source::Journal(ledger) => Ok(ledger.holds().await?),
            Source::Service(client) => {
                let answer = client.items(&Request::Holds { all }).await;
                answer.map_err(|error| unanswered(client.pid(), error))
            }
        }
    }

    /// Every legal hold in force. None through a service of an older version, which knows no holds.
    pub(crate) async fn known_holds(&mut self) -> Result<Vec<Hold>, Failure> {
        match self {
            Source::Journal(_) => self.holds(false).await,
            Source::Service(client) => match client.items(&Request::Holds { all: false }).await {
                Err(Unanswered::Failed(problem)) if problem.code == "bad_request" => Ok(Vec::new()),
                answer => answer.map_err(|error| unanswered(client.pid(), error)),
            },
        }
    }

    /// The ids of the open requests.
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

    /// The session and the seq of a call.
    ///
    /// An id is derived from that place, so the ids of all places are compared.
    pub(super) async fn call_at(
        &mut self,
        call: CallId,
    ) -> Result<Option<(SessionId, Seq)>, Failure> {
        let sessions: Vec<(SessionId, u64)> = match self {
            Source::Journal(ledger) => {
                let heads = ledger.session_heads().await?.into_iter();
                heads.map(|(session, head)| (session, head.seq)).collect()
            }
            Source::Service(_) => {
                let sessions = self.sessions().await?.into_iter();
                sessions.map(|it| (it.id, it.records)).collect()
            }
        };
        let places = sessions.into_iter();
        let mut places = places.flat_map(|(id, last)| (1..=last).map(move |seq| (id, Seq(seq))));
        Ok(places.find(|(session, seq)| session.call_id(*seq) == call))
    }

    /// Closes the journal.
    ///
    /// All records are durable before. An error means that the note of the close is missing.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        match self {
            Source::Journal(ledger) => Ok(ledger.journal().close().await?),
            Source::Service(_) => Ok(()),
        }
    }
}
