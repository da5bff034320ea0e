//! The opening of a connection's session, which waits for room on a full disk.

use recount::journal::causes;
use std::collections::BTreeSet;
use std::time::Duration;

use recount::engine::{Error, LiveHandle, Relay, RelayOrder};
use recount::journal;
use recount::ledger;
use recount::session::{Lease, SessionId};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::copies::{Copies, SharedCopies};
use super::reports::Reported;
use super::session::{Wanted, toolset};
use super::setup::NAME_AND_HANDLE;
use super::task::Shared;
use crate::places::PlaceKey;
use crate::sessions::UNANSWERED_MAX;

/// The time for which a client holds a call. The end of its connection ends it before.
const LEASE: Duration = Duration::from_secs(24 * 60 * 60);

/// The time between two attempts to record something on a full disk.
const RETRY_EVERY: Duration = Duration::from_millis(500);

/// The number of attempts once the client has left.
const RETRIES_WITHOUT_CLIENT: u32 = 60;

/// The number of sessions in a row that may stop before their first record. A disk that fills up
/// meanwhile stops them; the next attempt finds it full.
const STOPS_MAX: u32 = 3;

/// The attempts to record something on a full disk.
#[derive(Default)]
pub(super) struct Retries {
    without_client: u32,
}

impl Retries {
    /// True if there is another attempt. A client that is connected has any number of them.
    pub(super) fn has_another(&mut self, reported: &Reported) -> bool {
        self.without_client += u32::from(reported.is_ended());
        self.without_client <= RETRIES_WITHOUT_CLIENT
    }

    pub(super) async fn pause(&self) {
        sleep(RETRY_EVERY).await;
    }
}

/// The parts from which the session of a connection is opened.
pub(super) struct Opener<'a> {
    shared: &'a Shared,
    known: &'a watch::Sender<Option<SessionId>>,
    wanted: Wanted,
    cut: CancellationToken,
    copies: SharedCopies,
    orders: mpsc::UnboundedSender<Box<RelayOrder>>,
}

impl Opener<'_> {
    pub(super) fn new<'a>(
        shared: &'a Shared,
        known: &'a watch::Sender<Option<SessionId>>,
        wanted: Wanted,
        cut: CancellationToken,
        copies: Copies,
        orders: mpsc::UnboundedSender<Box<RelayOrder>>,
    ) -> Opener<'a> {
        Opener {
            shared,
            known,
            wanted,
            cut,
            copies: SharedCopies::new(copies),
            orders,
        }
    }

    /// Opens the session and gives it the connection. On a full disk it tries again until there is
    /// room; meanwhile the calls of the connection wait as those of an open session do.
    pub(super) async fn opened(self, reported: &Reported) -> Result<LiveHandle, Error> {
        // Before the turn is taken: the other connection may wait for the same one. And once: the
        // service may give the client the same handle again, which then waits for this session.
        let mut found = Vec::new();
        for key in &self.wanted.places {
            found.push((*key, self.shared.index.find(*key).await));
        }
        let (mut retries, mut stops, mut entered) = (Retries::default(), 0, None);
        loop {
            let error = match self.attempt(&found, &mut entered).await {
                Ok(()) => match entered {
                    Some(handle) => return Ok(handle),
                    None => Error::ShutDown,
                },
                Err(error) => error,
            };
            stops = match &error {
                Error::Stopped { .. } if entered.is_none() => stops + 1,
                error if is_full(error) => 0,
                _ => return Err(error),
            };
            if stops > STOPS_MAX || !retries.has_another(reported) {
                return Err(error);
            }
            tracing::debug!(error = %causes(&error), "the session of a client waits for the disk");
            retries.pause().await;
        }
    }

    /// Opens the session, unless an earlier attempt has done it, and gives it the connection.
    async fn attempt(
        &self,
        found: &[(PlaceKey, Option<SessionId>)],
        entered: &mut Option<LiveHandle>,
    ) -> Result<(), Error> {
        let handle = match entered {
            Some(handle) => handle,
            None => entered.insert(self.enter(found).await?),
        };
        let (_, mistakes) = handle.relay(self.relay()).await?;
        let client = (
            Some(handle.session_id()),
            self.wanted.admitted.actor().name.as_str(),
        );
        self.shared.complaints.tell_unfit(&mistakes, client);
        // Behind the end of the earlier connection on record, and so of its claims.
        match handle.unanswered(UNANSWERED_MAX).await {
            Ok(unanswered) => {
                let session = handle.session_id();
                self.shared.sessions.recall(session, unanswered);
            }
            Err(error) => tracing::warn!(
                error = %causes(&error),
                "late answers to earlier calls do not count"
            ),
        }
        Ok(())
    }

    /// Opens or continues the session, and ends the connection that had it.
    async fn enter(&self, found: &[(PlaceKey, Option<SessionId>)]) -> Result<LiveHandle, Error> {
        let (wanted, index) = (&self.wanted, &self.shared.index);
        // Another connection with the same name may be about to open its session.
        let turn = index.turn(&wanted.places).await;
        let found = found.iter();
        let found = found.filter_map(|(key, session)| index.known(*key).or(*session));
        let found: BTreeSet<SessionId> = found.collect();
        if found.len() > 1 {
            // The setup saw no difference, because one of them was not open yet.
            let mistakes = vec![NAME_AND_HANDLE.to_owned()];
            return Err(Error::Configuration { mistakes });
        }
        let handle = match found.first() {
            Some(session) => self.reopened(*session).await?,
            None => None,
        };
        let handle = match handle {
            Some(handle) => handle,
            None => self.new_session().await?,
        };
        let session = handle.session_id();
        index.put(PlaceKey::of_session(session), session);
        index.settle(self.known, Some(session));
        for place in &wanted.places {
            index.put(*place, session);
        }
        drop(turn);
        // Before the session ends the earlier connection: its relay must not take that for the end
        // of the session, and refuse calls that go on here.
        let claim = format!("relay/{}", wanted.claim);
        self.shared
            .sessions
            .enter(session, &claim, self.cut.clone());
        Ok(handle)
    }

    async fn new_session(&self) -> Result<LiveHandle, Error> {
        let wanted = &self.wanted;
        let mut new = self.shared.engine.session(&wanted.agent);
        for (key, value) in &wanted.labels {
            new = new.label(key, value);
        }
        if let Some(id) = &wanted.external_id {
            new = new.external_id(id);
        }
        if let Some(name) = &wanted.on_behalf_of {
            new = new.on_behalf_of(name);
        }
        Ok(new.open().await?.releasing())
    }

    /// Returns a session that goes on. `None` if it is closed, of another agent, or not the
    /// client's.
    async fn reopened(&self, session: SessionId) -> Result<Option<LiveHandle>, Error> {
        let (engine, wanted) = (&self.shared.engine, &self.wanted);
        let handle = match engine.reopen(session).await {
            Ok(handle) => handle.releasing(),
            Err(Error::Ledger(ledger::Error::UnknownSession { .. })) => return Ok(None),
            Err(error) => return Err(error),
        };
        let state = handle.session().await?;
        let agent = wanted.agent.as_str();
        // The name of a client may be that of other tokens, which allow other labels.
        let opened = engine.ledger().opened(session).await?;
        let may = opened.is_some_and(|(_, opened)| {
            let model = Some(wanted.model.as_str());
            wanted.admitted.may_use(agent, &opened.labels, model)
        });
        let goes_on = may && !state.closed && state.agent.as_deref() == Some(agent);
        Ok(goes_on.then_some(handle))
    }

    /// The connection for the session.
    fn relay(&self) -> Relay {
        let wanted = &self.wanted;
        Relay {
            model: wanted.model.clone(),
            endpoint: wanted.endpoint.clone(),
            platform: wanted.platform,
            tools: toolset(&wanted.tools),
            resumed: wanted.resumed.clone(),
            client: wanted.admitted.actor().clone(),
            claim: wanted.claim.clone(),
            lease: Lease::new(LEASE).unwrap_or(Lease::DEFAULT),
            receiver: Box::new(self.copies.clone()),
            orders: self.orders.clone(),
        }
    }
}

/// True if the disk of the journal has no room.
pub(super) fn is_full(error: &Error) -> bool {
    let journal = match error {
        Error::Ledger(ledger::Error::Journal(journal)) => journal,
        _ => return false,
    };
    matches!(journal, journal::Error::NoSpace { .. })
}
