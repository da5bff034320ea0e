//! Sessions whose process is gone, in a journal that several processes write.
//!
//! A process that ends releases its sessions, and one that dies loses its lease. What such sessions
//! owe is begun by a process that has their agent.

use std::sync::{Arc, Weak};
use std::time::Duration;

use recount_journal::{Journal, Unowned, causes};
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use super::engine::{Engine, Inner};
use super::spreading::LeftToOthers;
use super::stranded::StrandedLook;
use crate::engine::error::Error;
use crate::engine::inputs::left_open::KINDS;
use crate::ledger::IN_PLACE;
use crate::session::{OpenKind, SessionId, Timestamp};

/// The number of sessions that are looked for at a time.
pub(super) const PAGE: usize = 256;

/// The shortest time between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Adopts sessions while the engine exists. `None` if no other process writes the journal.
pub(super) fn run(engine: &Arc<Inner>) -> Option<AbortOnDropHandle<()>> {
    let journal = engine.ledger.journal().clone();
    journal.sharing()?;
    let engine = Arc::downgrade(engine);
    Some(AbortOnDropHandle::new(tokio::spawn(adopt(engine, journal))))
}

/// The search for sessions that need a process, behind the last one that was found.
pub(super) fn needing_a_process<'a>(
    kinds: &'a [&'a str],
    now: Timestamp,
    after: Option<Uuid>,
) -> Unowned<'a> {
    Unowned {
        kinds,
        flags: IN_PLACE,
        due_us: now.0,
        after,
        limit: PAGE,
    }
}

async fn adopt(engine: Weak<Inner>, journal: Arc<dyn Journal>) {
    let (mut after, mut seen) = (None, 0);
    let (mut stranded, mut left) = (StrandedLook::default(), LeftToOthers::default());
    while let Some(sharing) = journal.sharing() {
        if after.is_none() {
            seen = left.news(sharing, seen).await;
            left.begin_look();
        }
        let Some(inner) = engine.upgrade() else {
            return;
        };
        let engine = Engine::of(inner);
        if after.is_none() {
            let own = engine.take_up_stranded(&mut stranded).await;
            if let Err(error) = own {
                tracing::warn!(%error, "own sessions without a task could not be looked for");
            }
        }
        after = match engine.adopt_page(after, &mut left).await {
            Ok(last) => last,
            Err(error) if sharing.lease().is_err() => {
                tracing::error!(
                    error = %causes(&error),
                    "this process has lost its lease, and serves no session"
                );
                return;
            }
            // The database cannot be reached. The next look tells.
            Err(error) => {
                tracing::warn!(
                    error = %causes(&error),
                    "no sessions of other processes could be adopted"
                );
                None
            }
        };
        drop(engine);
        tokio::time::sleep(PAUSE).await;
    }
}

impl Engine {
    /// Adopts the sessions of a page, and returns the last one if there may be more.
    async fn adopt_page(
        &self,
        after: Option<Uuid>,
        left: &mut LeftToOthers,
    ) -> Result<Option<Uuid>, Error> {
        // The end of a pause may make it adopt what it has left.
        self.inner.ledger.read_pauses().await?;
        self.take_requests().await?;
        let journal = self.inner.ledger.journal();
        let Some(sharing) = journal.sharing() else {
            return Ok(None);
        };
        let now = self.inner.clock.now();
        let kinds = KINDS.map(OpenKind::as_str);
        let sought = needing_a_process(&kinds, now, after);
        let found = sharing.unowned(sought).await?;
        let last = found.last().copied().filter(|_| found.len() == PAGE);
        let mut served = Vec::new();
        for session in found.into_iter().map(SessionId) {
            let waits = self.inner.back_off.waits(session, now);
            if waits || self.is_left(session).await? {
                continue;
            }
            match self.agent_of(session).await {
                Ok(agent) => served.push((session, agent)),
                // Another process may have its agent, or its key.
                Err(error) => {
                    tracing::debug!(
                        %session, error = %causes(&error),
                        "a session without a process is not adopted"
                    );
                }
            }
        }
        let served = left.leave_out(sharing, served).await?;
        let adopts = !served.is_empty();
        self.resume_owned(served).await?;
        if adopts {
            // A session may be adopted for a request alone. Its task ends as soon as it is loaded.
            self.take_requests().await?;
        }
        Ok(last)
    }

    /// True if a task of this process could not do what a session needs, and nothing has changed
    /// since.
    pub(super) async fn is_left(&self, session: SessionId) -> Result<bool, Error> {
        let left_open = &self.inner.left_open;
        if !left_open.has(session) {
            return Ok(false);
        }
        let ledger = &self.inner.ledger;
        let open = ledger.journal().open_work_of(session.0).await?;
        let now_us = self.inner.clock.now().0;
        Ok(left_open.is_unchanged(session, ledger.pause_version(), (&open, now_us)))
    }
}
