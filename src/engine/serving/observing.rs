//! The pauses of more than one session, in a journal that several processes write: each process
//! applies them to the tasks that it has, and then says so.
//!
//! The process that pauses waits for the others. So a process is done with a pause only when none
//! of its tasks can start a tool without having observed it.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use recount_journal::{Journal, Sharing};
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

use super::engine::{Engine, Inner};
use crate::engine::error::Error;
use crate::engine::inputs::inbox::{CancelRunning, Input};
use crate::session::SessionId;

/// The number of sessions that observe a pause at the same time. Each costs one commit, which
/// sessions share.
const SESSIONS_AT_ONCE: usize = 64;

/// The shortest time between two looks. A node that serves many sessions has news all the time.
const PAUSE: Duration = Duration::from_millis(10);

/// The pauses that this process has applied.
#[derive(Default)]
pub(super) struct Applied {
    /// The version of the pauses that the tasks were asked to observe.
    version: u64,
    /// The sessions whose task has not observed it.
    left: BTreeSet<SessionId>,
    /// The cancellations of its pauses.
    cancels: Vec<CancelRunning>,
    /// The version that other processes know to be applied here.
    told: u64,
}

impl Engine {
    /// Begins to apply pauses, before any session has a task.
    pub(super) async fn apply_first_pauses(&self) -> Result<(), Error> {
        let ledger = &self.inner.ledger;
        let Some(sharing) = ledger.journal().sharing() else {
            return Ok(ledger.read_pauses().await?);
        };
        // Before the read: a process that records a pause behind it waits for this one.
        sharing.applied(0).await?;
        ledger.read_pauses().await?;
        let version = ledger.pause_version();
        sharing.applied(version).await?;
        let applied = Applied {
            version,
            told: version,
            ..Applied::default()
        };
        let (engine, journal) = (Arc::downgrade(&self.inner), ledger.journal().clone());
        let observing = tokio::spawn(observe(engine, journal, applied));
        *self.observing() = Some(AbortOnDropHandle::new(observing));
        Ok(())
    }

    /// Applies the pauses that were recorded since, by this process or by others.
    async fn apply_pauses(
        &self,
        sharing: &dyn Sharing,
        applied: &mut Applied,
    ) -> Result<(), Error> {
        let ledger = &self.inner.ledger;
        if applied.left.is_empty() {
            ledger.read_pauses().await?;
            let version = ledger.pause_version();
            if version > applied.version {
                // A turn at the desk that began before does not know of them.
                drop(self.inner.desk_turns.lock().await);
                let cancels = ledger.cancelling_pauses(applied.version);
                applied.cancels = cancels.into_iter().map(CancelRunning::from).collect();
                applied.left = self.inner.registry.ids();
                applied.version = version;
            }
        }
        if !applied.left.is_empty() {
            let left = std::mem::take(&mut applied.left);
            applied.left = self.tasks_observe(left, &applied.cancels).await;
        }
        if applied.left.is_empty() && applied.told < applied.version {
            sharing.applied(applied.version).await?;
            applied.told = applied.version;
        }
        Ok(())
    }

    /// Lets the tasks of these sessions observe the pauses that are known, and cancel what runs.
    /// Returns the sessions whose task has not done so.
    pub(in crate::engine) async fn tasks_observe(
        &self,
        sessions: BTreeSet<SessionId>,
        cancels: &[CancelRunning],
    ) -> BTreeSet<SessionId> {
        let observing = sessions.into_iter().map(|session| async move {
            match self.task_observes(session, cancels.to_vec()).await {
                Ok(()) => None,
                Err(error) => {
                    tracing::warn!(%session, %error, "a session did not observe a pause yet");
                    Some(session)
                }
            }
        });
        let observing = stream::iter(observing).buffer_unordered(SESSIONS_AT_ONCE);
        observing.filter_map(std::future::ready).collect().await
    }

    async fn task_observes(
        &self,
        session: SessionId,
        cancels: Vec<CancelRunning>,
    ) -> Result<(), Error> {
        // Without a task it starts nothing. Its next task observes the pause with its first record.
        let Some(task) = self.inner.registry.task(session) else {
            return Ok(());
        };
        let (reply, observed) = oneshot::channel();
        if task
            .inbox
            .send(Input::ObservePauses { cancels, reply })
            .is_err()
        {
            return Ok(());
        }
        observed.await.map_err(|_| task.stopped(session))?
    }
}

/// Applies pauses while the engine exists and its lease is valid.
async fn observe(engine: Weak<Inner>, journal: Arc<dyn Journal>, mut applied: Applied) {
    let mut seen = 0;
    while let Some(sharing) = journal.sharing() {
        seen = sharing.changed(seen).await;
        let Some(inner) = engine.upgrade() else {
            return;
        };
        let engine = Engine::of(inner);
        let done = engine.apply_pauses(sharing, &mut applied).await;
        drop(engine);
        if let Err(error) = done {
            if sharing.lease().is_err() {
                return;
            }
            tracing::warn!(%error, "pauses of other processes could not be applied");
        }
        tokio::time::sleep(PAUSE).await;
    }
}
