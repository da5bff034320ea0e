//! The end of an idle session task. The session itself stays in the journal.

use super::session_task::SessionTask;
use crate::engine::effects::performer::due_of;
use crate::engine::error::Error;
use crate::engine::inputs::callers::Caller;
use crate::engine::reasons;
use crate::session::{open_work, owed};

impl SessionTask {
    /// True if nothing runs, nothing is awaited and no handle is open.
    pub(super) fn is_idle(&self) -> bool {
        self.handles == 0
            && self.connections.socket.is_none()
            && self.connections.opening.is_none()
            && self.connections.reconnecting.wait.is_none()
            && self
                .running
                .callers
                .values()
                .flatten()
                .all(Caller::is_closed)
            && !self.running.performer.is_busy()
            && self
                .running
                .extracting
                .iter()
                .all(|task| task.is_finished())
            && self.inbox.is_empty()
    }

    /// Ends the task, unless an input arrives at the same moment.
    pub(super) async fn retire(&mut self) -> Result<bool, Error> {
        self.disconnect(reasons::IDLE).await?;
        self.connections.reconnecting.closing_socket().await;
        self.stream.snapshot_ahead().await;
        for due in owed(&self.stream.session).iter().filter_map(due_of) {
            self.shared.alarm.set(due, self.id);
        }
        if self.stream.ledger.journal().sharing().is_some() {
            let (session, pauses) = (&self.stream.session, self.stream.pauses_known);
            self.shared.back_off.forget(self.id);
            self.shared
                .left_open
                .note(self.id, pauses, &open_work(session));
        }
        let mut owned = None;
        let is_retired = self.shared.registry.remove_if(self.id, || {
            let is_idle = self.inbox.is_empty();
            if is_idle {
                // Before another task of the session can begin, which owns it anew.
                owned = self.stream.ledger.let_go(self.id);
                // A client declares its tools again when it returns. Kept until then, those of many
                // clients that left would fill the memory.
                if self.stream.session.closed || !self.agent.is_changed {
                    self.shared.changed_agents.forget(self.id);
                }
            }
            is_idle
        });
        self.stream.ledger.release(self.id, owned).await;
        Ok(is_retired)
    }
}
