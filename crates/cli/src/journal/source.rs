//! Where a command finds the sessions: in the journal, or at the service that has the journal open.

use std::path::Path;
use std::time::{Duration, Instant};

use uuid::Uuid;

use super::keys::Keys;
use super::opening;
use crate::failures::{Failure, IN_USE, NOT_YOURS, out_of_reach, unanswered};
use recount::control::{Client, ConnectError, NamedId, Request, Waiting};
use recount::ledger::{Ledger, PendingConfirmation, SessionSummary};
use recount::session::{CallId, Seq, SessionId};

/// How long a command waits for the journal where nobody who has it answers. Other commands need it
/// for some milliseconds each.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// How long to wait before looking again whether it is free.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How long to wait before knocking again where somebody answers, and has a log in which each knock
/// is a line.
const KNOCK_AGAIN: Duration = Duration::from_millis(500);

/// The sessions of a journal, from here. An operator's decisions are in `operator/operations`.
pub(crate) enum Source {
    /// Nobody has the journal open but this command.
    Journal(Ledger),
    /// A service has it open, and does what it is asked.
    Service(Box<Client>),
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
            // Whoever has it may be another command, a service that begins and does not listen yet,
            // or one that ends; what the file says that a killed one has left is no reason not to
            // look again.
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

    /// The session and the record of a call. An id follows from that place, so it is derived again
    /// from all places.
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

    /// Lets go of the journal. What was appended is durable by then, so this can only tell that the
    /// closing mark is missing.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        match self {
            Source::Journal(ledger) => Ok(ledger.journal().close().await?),
            Source::Service(_) => Ok(()),
        }
    }
}
