//! How a session that nobody holds is let go.
//!
//! A connection that nobody here holds, because it was opened to tell an outcome, ends once nothing
//! is said on it any more.

use recount_journal::block_on;
use tokio_util::task::AbortOnDropHandle;

use super::session_task::SessionTask;
use crate::engine::error::Error;
use crate::engine::inputs::inbox::Input;
use crate::engine::reasons;
use crate::engine::task::parts::Stream;
use crate::ledger::PAYS_FROM;
use crate::session::Timestamp;

impl SessionTask {
    /// The last handle that goes takes the connection with it.
    pub(super) async fn handle_dropped(&mut self) -> Result<(), Error> {
        self.handles = self.handles.saturating_sub(1);
        if self.handles == 0 {
            Box::pin(self.disconnect(reasons::DROPPED)).await
        } else {
            Ok(())
        }
    }

    /// A handle that never saw its connection goes, and with the last one the try to connect.
    pub(super) fn handle_returned(&mut self) {
        self.handles = self.handles.saturating_sub(1);
        if self.handles == 0 {
            self.connections.opening = None;
            self.stop_reconnecting();
        }
    }

    /// Begins to wait for the end of a silence, or stops to.
    pub(super) fn watch_silence(&mut self) {
        let may_fold = self.handles == 0
            && self.connections.socket.is_some()
            && !self.running.performer.is_busy();
        if !may_fold {
            self.connections.silence = None;
        } else if self.connections.silence.is_none() {
            self.wait_in_silence(self.shared.clock.now());
        }
    }

    fn wait_in_silence(&mut self, since: Timestamp) {
        let due = since.after(self.agent.idle_fold_after);
        let (reached, own) = (self.shared.clock.reached(due), self.own.clone());
        self.connections.silences += 1;
        let number = self.connections.silences;
        self.connections.silence = Some(AbortOnDropHandle::new(tokio::spawn(async move {
            reached.await;
            let _ = own.send(Input::SilenceDue { number });
        })));
    }

    /// It was silent for long enough, unless somebody spoke or came at this very moment.
    pub(super) async fn let_go_if_silent(&mut self, number: u64) -> Result<(), Error> {
        if self.connections.silence.is_none()
            || self.connections.silences != number
            || self.handles > 0
        {
            return Ok(());
        }
        self.connections.silence = None;
        // What is audio passes the session by, so that there was some is seen only here.
        let due = |passed: &Timestamp| passed.after(self.agent.idle_fold_after);
        let passed = self.connections.media.passed_at();
        if let Some(passed) = passed.filter(|it| due(it) > self.shared.clock.now()) {
            self.wait_in_silence(passed);
            return Ok(());
        }
        self.note_silence();
        self.disconnect("nobody holds the session and nothing was said")
            .await
    }
}

impl Stream {
    /// Folds what was recorded, where that is much, so that the next opening finds it done.
    pub(super) async fn fold_ahead(&mut self) {
        if self.tail.seq.0 - self.folded.0 < PAYS_FROM {
            return;
        }
        self.folded = self.tail.seq;
        let (ledger, id) = (self.ledger.clone(), self.session.id);
        // From the records and not from what this task holds, and beside whoever waits for this
        // thread. The opening leaves the snapshot; what keeps it from that, the next one will say.
        let folded = tokio::task::spawn_blocking(move || block_on(ledger.load(id)).is_ok());
        let _ = folded.await;
    }
}
