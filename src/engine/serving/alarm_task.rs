//! The waking of sessions without a task, at their due time or when their agent is registered.

use recount_journal::causes;
use std::sync::{Arc, Weak};

use tokio_util::task::AbortOnDropHandle;

use super::engine::{Engine, Inner};
use crate::session::SessionId;

/// Wakes sessions at their due times and when their agent is registered, while the engine exists.
pub(in crate::engine) fn run(engine: &Arc<Inner>) -> AbortOnDropHandle<()> {
    let (alarm, clock) = (engine.alarm.clone(), engine.clock.clone());
    let engine = Arc::downgrade(engine);
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            let new_agents = std::mem::take(&mut *alarm.new_agents());
            for agent in new_agents {
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

/// Starts owed effects in the sessions of a newly registered agent.
async fn catch_up(engine: &Weak<Inner>, agent: &str) {
    let Some(inner) = engine.upgrade() else {
        return;
    };
    let engine = Engine::of(inner);
    if let Err(error) = engine.start_owed_effects_of(agent).await {
        // The effects stay owed, and the next process starts them.
        tracing::error!(
            agent, error = %causes(&error),
            "what is owed in the sessions of a new agent was not begun"
        );
    }
}

/// Spawns the session's task, which handles what is overdue.
async fn wake(engine: &Weak<Inner>, session: SessionId) {
    let Some(inner) = engine.upgrade() else {
        return;
    };
    let engine = Engine::of(inner);
    match engine.agent_of(session).await {
        Ok(agent) => {
            if let Err(error) = engine.resume_owned(vec![(session, agent)]).await {
                tracing::warn!(
                    %session, error = %causes(&error),
                    "a session that is due was not woken"
                );
            }
        }
        // A process with its key, or its agent once registered, finds that it is overdue.
        Err(error) => {
            tracing::debug!(
                %session, error = %causes(&error),
                "no agent here can serve the session that is due"
            )
        }
    }
}
