//! The sessions of the gateway: who has them now, and what their clients have not answered.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use recount::engine::ClaimKey;
use recount::session::{Seq, SessionId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The maximum number of unanswered calls that are kept for a session.
pub(crate) const UNANSWERED_MAX: usize = 1_000;

/// The start of a call at the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) call: Seq,
    pub(crate) attempt: u32,
}

/// The sessions that have, or had, a client in this process.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<BTreeMap<SessionId, Presence>>);

struct Presence {
    /// The connection that has the session, by its claim. `None` once its client has left.
    connection: Option<(String, CancellationToken)>,
    /// The time since which it has no client.
    left: Instant,
    /// The calls that clients had when they left, by their ids.
    unanswered: BTreeMap<String, ClaimKey>,
}

impl Sessions {
    fn table(&self) -> MutexGuard<'_, BTreeMap<SessionId, Presence>> {
        // Each change is one step, so a panic elsewhere leaves a whole table.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Knows a session from an earlier process.
    pub(crate) fn remember(&self, session: SessionId) {
        self.table().entry(session).or_insert_with(Presence::new);
    }

    /// Gives the session to a connection, and ends the connection that had it.
    pub(crate) fn enter(&self, session: SessionId, claim: &str, connection: CancellationToken) {
        let mut table = self.table();
        let presence = table.entry(session).or_insert_with(Presence::new);
        let connection = (claim.to_owned(), connection);
        if let Some((_, earlier)) = presence.connection.replace(connection) {
            earlier.cancel();
        }
    }

    /// Notes that a connection has ended, with the calls that its client had.
    pub(crate) fn leave(&self, session: SessionId, claim: &str, unanswered: Vec<(String, Start)>) {
        let mut table = self.table();
        let Some(presence) = table.get_mut(&session) else {
            return;
        };
        let keys = unanswered.into_iter().map(|(id, start)| {
            let key = ClaimKey {
                session,
                call: start.call,
                attempt: Some(start.attempt),
                claim: claim.to_owned(),
            };
            (id, key)
        });
        presence.unanswered.extend(keys);
        while presence.unanswered.len() > UNANSWERED_MAX {
            presence.unanswered.pop_first();
        }
        // Not if another connection has taken the session over.
        let has_it = |(held, _): &(String, CancellationToken)| held == claim;
        if presence.connection.as_ref().is_some_and(has_it) {
            (presence.connection, presence.left) = (None, Instant::now());
        }
    }

    /// Adds the calls that earlier connections left unanswered, as the session has them on record.
    /// An earlier process may have left them.
    pub(crate) fn recall(&self, session: SessionId, unanswered: Vec<(String, ClaimKey)>) {
        if let Some(presence) = self.table().get_mut(&session) {
            // The newest call with an id comes first.
            for (id, key) in unanswered {
                presence.unanswered.entry(id).or_insert(key);
            }
        }
    }

    /// Takes the claim of a call that an earlier connection left unanswered.
    pub(crate) fn take(&self, session: SessionId, id: &str) -> Option<ClaimKey> {
        self.table().get_mut(&session)?.unanswered.remove(id)
    }

    /// Returns the sessions without a client for this time.
    pub(crate) fn left_for(&self, time: Duration) -> Vec<SessionId> {
        let table = self.table();
        let is_over = |it: &Presence| it.connection.is_none() && it.left.elapsed() >= time;
        let over = table.iter().filter(|(_, it)| is_over(it));
        over.map(|(session, _)| *session).collect()
    }

    /// Forgets a session that is closed, if no client has come back to it.
    pub(crate) fn forget(&self, session: SessionId) {
        let mut table = self.table();
        let is_left = |it: &Presence| it.connection.is_none();
        if table.get(&session).is_some_and(is_left) {
            table.remove(&session);
        }
    }
}

impl Presence {
    fn new() -> Presence {
        Presence {
            connection: None,
            left: Instant::now(),
            unanswered: BTreeMap::new(),
        }
    }
}
