//! Sessions that this process owns, that need a task and have none.
//!
//! The reply to a claim or to a release was lost, or a task panicked. No other process may take
//! such a session up while this one lives.

use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use super::adopting::{PAGE, needing_a_process};
use super::engine::Engine;
use crate::engine::error::Error;
use crate::engine::inputs::left_open::KINDS;
use crate::session::{OpenKind, SessionId};

/// The shortest time between two looks. Such sessions are rare, and a look reads all open work that
/// needs a process.
const LOOK_AFTER: Duration = Duration::from_secs(5);

/// The time of the next look.
#[derive(Default)]
pub(super) struct StrandedLook {
    due: Option<Instant>,
}

impl StrandedLook {
    fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let is_due = self.due.is_none_or(|it| it <= now);
        if is_due {
            self.due = Some(now + LOOK_AFTER);
        }
        is_due
    }
}

impl Engine {
    /// Begins tasks for such sessions, if it is time to look for them.
    pub(super) async fn take_up_stranded(&self, look: &mut StrandedLook) -> Result<(), Error> {
        if !look.is_due() {
            return Ok(());
        }
        self.inner.back_off.forget_old(self.inner.clock.now());
        let mut after = None;
        loop {
            after = self.take_up_page(after).await?;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    async fn take_up_page(&self, after: Option<Uuid>) -> Result<Option<Uuid>, Error> {
        let journal = self.inner.ledger.journal();
        let Some(sharing) = journal.sharing() else {
            return Ok(None);
        };
        let now = self.inner.clock.now();
        let kinds = KINDS.map(OpenKind::as_str);
        let found = sharing.owned(needing_a_process(&kinds, now, after)).await?;
        let last = found.last().copied().filter(|_| found.len() == PAGE);
        let mut served = Vec::new();
        for session in found.into_iter().map(SessionId) {
            let has_task = self.inner.registry.has_task(session);
            if has_task || self.inner.back_off.waits(session, now) {
                continue;
            }
            match self.agent_of(session).await {
                Ok(agent) if !self.is_left(session).await? => served.push((session, agent)),
                // Another process may do more.
                Ok(_) => self.free(session).await?,
                Err(error) => {
                    tracing::debug!(%session, %error, "a session of this process is released");
                    self.free(session).await?;
                }
            }
        }
        for (session, _) in &served {
            tracing::warn!(%session, "a session of this process had no task");
        }
        self.resume_owned(served).await?;
        Ok(last)
    }

    /// Releases a session of this process, unless it has a task meanwhile.
    async fn free(&self, session: SessionId) -> Result<(), Error> {
        let ledger = &self.inner.ledger;
        // The epoch may be unknown here. If its row is locked, the next look is for it.
        if let Some(sharing) = ledger.journal().sharing()
            && sharing.claim(vec![session.0]).await?.is_empty()
        {
            return Ok(());
        }
        let owned = self
            .inner
            .registry
            .without_task(session, || ledger.let_go(session));
        ledger.release(session, owned.flatten()).await;
        Ok(())
    }
}
