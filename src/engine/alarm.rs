//! Wakes sessions that nobody serves, when something of theirs is due: a session that merely waits costs a line in a list here,
//! no task and no timer.

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
    changed: Notify,
}

impl Alarm {
    /// Wakes the session at this time.
    pub(super) fn set(&self, due: Timestamp, session: SessionId) {
        self.lock().insert((due, session));
        self.changed.notify_one();
    }

    fn first(&self) -> Option<(Timestamp, SessionId)> {
        self.lock().first().copied()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<(Timestamp, SessionId)>> {
        // The set is whole between any two statements, so a panic elsewhere does not spoil it.
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
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
        | Effect::Connect => None,
    }
}

/// Wakes sessions as their times come, as long as the engine is there.
pub(super) fn ring(engine: &Arc<Inner>) -> AbortOnDropHandle<()> {
    let (alarm, clock) = (engine.alarm.clone(), engine.clock.clone());
    let engine = Arc::downgrade(engine);
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
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
        // Whoever has its agent, or its key, finds out that it is overdue.
        Err(error) => tracing::debug!(%session, %error, "nobody here can serve what is due"),
    }
}
