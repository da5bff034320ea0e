//! Wakes sessions that nobody serves, when something of theirs is due or their agent has come: a session that merely waits costs
//! a line in a list here, no task and no timer.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{Notify, oneshot};
use tokio_util::task::AbortOnDropHandle;

use super::inbox::Input;
use super::task::Begin;
use super::{Engine, Inner};
use crate::session::{Deadline, Effect, SessionId, Timestamp};

/// What is due, and of which session.
#[derive(Default)]
pub(super) struct Alarm {
    due: Mutex<BTreeSet<(Timestamp, SessionId)>>,
    /// The agents that came while the engine was open, and of whose sessions nobody has looked after what is owed.
    newcomers: Mutex<Vec<String>>,
    changed: Notify,
}

impl Alarm {
    /// Wakes the session at this time.
    pub(super) fn set(&self, due: Timestamp, session: SessionId) {
        self.lock().insert((due, session));
        self.changed.notify_one();
    }

    /// Looks after what is owed in the sessions of an agent that is here from now on.
    pub(super) fn look_after(&self, agent: String) {
        self.newcomers().push(agent);
        self.changed.notify_one();
    }

    fn first(&self) -> Option<(Timestamp, SessionId)> {
        self.lock().first().copied()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<(Timestamp, SessionId)>> {
        // The set is whole between any two statements, so a panic elsewhere does not spoil it.
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn newcomers(&self) -> MutexGuard<'_, Vec<String>> {
        let newcomers = self.newcomers.lock();
        newcomers.unwrap_or_else(PoisonError::into_inner)
    }
}

/// When the effect that a session waits for by itself is due, if a session may be let go of meanwhile.
pub(super) fn due_of(effect: &Effect) -> Option<Timestamp> {
    match effect {
        Effect::ArmTimer {
            deadline: Deadline::Confirmation { .. },
            due_us,
        } => Some(*due_us),
        // The others belong to a call that runs, or soon will.
        Effect::ArmTimer {
            deadline: Deadline::Run { .. } | Deadline::Retry { .. },
            ..
        }
        | Effect::RunTool { .. }
        | Effect::AskHook { .. }
        | Effect::AskConfirmation { .. }
        | Effect::SendResponse { .. }
        | Effect::SendInstruction { .. }
        | Effect::CloseSession { .. }
        | Effect::Connect => None,
    }
}

/// Wakes sessions as their times, and their agents, come, as long as the engine is there.
pub(super) fn ring(engine: &Arc<Inner>) -> AbortOnDropHandle<()> {
    let (alarm, clock) = (engine.alarm.clone(), engine.clock.clone());
    let engine = Arc::downgrade(engine);
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            let newcomers = std::mem::take(&mut *alarm.newcomers());
            for agent in newcomers {
                catch_up(&engine, &agent).await;
            }
            let Some((due, session)) = alarm.first() else {
                alarm.changed.notified().await;
                continue;
            };
            tokio::select! {
                biased;
                () = alarm.changed.notified() => {}
                () = clock.reached(due) => {
                    alarm.lock().remove(&(due, session));
                    wake(&engine, session).await;
                }
            }
        }
    }))
}

/// Begins what is owed in the sessions of an agent that has come.
async fn catch_up(engine: &Weak<Inner>, agent: &str) {
    let Some(inner) = engine.upgrade() else {
        return;
    };
    let engine = Engine { inner };
    if let Err(error) = engine.perform_what_is_owed_by(agent).await {
        // It stays owed, and the next process begins it.
        tracing::error!(agent, %error, "what is owed in the sessions of a new agent was not begun");
    }
}

/// Begins the session's task, which finds out what is overdue.
async fn wake(engine: &Weak<Inner>, session: SessionId) {
    let Some(inner) = engine.upgrade() else {
        return;
    };
    let engine = Engine { inner };
    match engine.agent_of(session).await {
        Ok(agent) => {
            let (reply, _) = oneshot::channel();
            engine.send(session, agent, Begin::Resume, Input::Session(reply));
        }
        // Whoever has its key finds out that it is overdue, and so does its agent when it comes.
        Err(error) => tracing::debug!(%session, %error, "nobody here can serve what is due"),
    }
}
