//! Wakes sessions without a task, when something of theirs is due or their agent has come.

use std::sync::{Arc, Weak};

use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

use super::engine::{Engine, Inner};
use crate::engine::inputs::inbox::Input;
use crate::engine::task::session_task::Begin;
use crate::session::SessionId;

/// Wakes sessions as their times, and their agents, come, as long as the engine is there.
pub(in crate::engine) fn ring(engine: &Arc<Inner>) -> AbortOnDropHandle<()> {
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
        Err(error) => {
            tracing::debug!(%session, %error, "no agent here can serve the session that is due")
        }
    }
}
