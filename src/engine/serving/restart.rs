//! The start of a new process, and of an agent registered later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

use super::{adopting, alarm_task};
use crate::engine::agents::prepared::Prepared;
use crate::engine::error::Error;
use crate::engine::inputs::inbox::Input;
use crate::engine::serving::engine::Engine;
use crate::engine::task::session_task::Begin;
use crate::ledger;
use crate::session::{OpenKind, SessionId, Timestamp};

impl Engine {
    /// Spawns a task for every session that owes effects and whose agent is registered.
    ///
    /// A session without its agent is listed and can be answered, but never runs. A session without
    /// its key is only listed. A session that only waits gets no task, unless a confirmation
    /// provider of this process must be asked again.
    pub(in crate::engine) async fn start_owed_effects(&self) -> Result<(), Error> {
        // Before any session starts anything: a crash may have come between a pause and its
        // observation by a session.
        self.apply_first_pauses().await?;
        *self.alarm_task() = Some(alarm_task::run(&self.inner));
        let adopting = adopting::run(&self.inner);
        *self.adopting() = adopting;
        self.spawn_owing_sessions(|_| true).await
    }

    /// Does the same for the sessions of one agent that was registered later. Deadlines that passed
    /// meanwhile are handled now.
    pub(super) async fn start_owed_effects_of(&self, agent: &str) -> Result<(), Error> {
        // Appends of the desk in progress finish first. From then on the agent's tasks write to its
        // sessions.
        drop(self.inner.desk_turns.lock().await);
        self.inner.left_open.forget();
        self.spawn_owing_sessions(|name| name == agent).await
    }

    async fn spawn_owing_sessions(&self, is_meant: impl Fn(&str) -> bool) -> Result<(), Error> {
        let has_provider = {
            let agents = self.agents();
            let mut meant = agents.values().filter(|it| is_meant(&it.name));
            meant.any(|it| it.provider.is_some())
        };
        let mut owed: BTreeMap<SessionId, bool> = BTreeMap::new();
        // One page at a time: entries of sessions that only wait are not kept.
        let mut page = self.inner.ledger.open_items_behind(None).await?;
        while let Some(last) = page.last().cloned() {
            for item in page {
                let session = SessionId(item.session);
                let runs = item.kind == OpenKind::Ready.as_str()
                    || item.kind == OpenKind::Running.as_str()
                    || item.kind == OpenKind::Untold.as_str()
                    || item.kind == OpenKind::Closing.as_str()
                    || item.flags & ledger::IN_PLACE != 0;
                let waits = item.kind == OpenKind::Confirmation.as_str();
                if runs || (waits && has_provider) {
                    *owed.entry(session).or_default() |= runs;
                }
                let waits = waits || item.kind == OpenKind::Claimed.as_str();
                if let (true, Some(due)) = (waits, item.deadline_us) {
                    self.inner.alarm.set(Timestamp(due), session);
                }
            }
            page = self.inner.ledger.open_items_behind(Some(&last)).await?;
        }
        let mut begun = Vec::new();
        for (session, has_own_work) in owed {
            let agent = match self.agent_of(session).await {
                Ok(agent) => agent,
                Err(Error::UnknownAgent { .. } | Error::Ledger(ledger::Error::Sealed { .. })) => {
                    continue;
                }
                Err(error) => return Err(error),
            };
            if is_meant(&agent.name) && (has_own_work || agent.provider.is_some()) {
                begun.push((session, agent));
            }
        }
        self.resume_owned(begun).await
    }

    /// Spawns a task for each of these sessions that no other process owns.
    pub(super) async fn resume_owned(
        &self,
        mut sessions: Vec<(SessionId, Arc<Prepared>)>,
    ) -> Result<(), Error> {
        if let Some(sharing) = self.inner.ledger.journal().sharing() {
            let ids = sessions.iter().map(|(session, _)| session.0).collect();
            let owned = BTreeSet::from_iter(sharing.claim(ids).await?);
            sessions.retain(|(session, _)| owned.contains(&session.0));
        }
        for (session, agent) in sessions {
            let (reply, _) = oneshot::channel();
            self.send(session, agent, Begin::Resume, Input::Session(reply));
        }
        Ok(())
    }

    pub(in crate::engine) fn adopting(&self) -> MutexGuard<'_, Option<AbortOnDropHandle<()>>> {
        let adopting = self.inner.adopting.lock();
        adopting.unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::engine) fn observing(&self) -> MutexGuard<'_, Option<AbortOnDropHandle<()>>> {
        let observing = self.inner.observing.lock();
        observing.unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::engine) fn alarm_task(&self) -> MutexGuard<'_, Option<AbortOnDropHandle<()>>> {
        let alarm_task = self.inner.alarm_task.lock();
        alarm_task.unwrap_or_else(PoisonError::into_inner)
    }
}
