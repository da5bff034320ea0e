//! Idle timeouts of sessions without a handle.
//!
//! A connection without a handle was opened to deliver an outcome. It ends once it stays silent.

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
    /// Disconnects when the last handle is dropped.
    pub(super) async fn handle_dropped(&mut self) -> Result<(), Error> {
        self.handles = self.handles.saturating_sub(1);
        if self.handles == 0 {
            Box::pin(self.disconnect(reasons::DROPPED)).await
        } else {
            Ok(())
        }
    }

    /// Releases a handle, which ends nothing. The last one ends the attempt to connect.
    pub(super) fn handle_returned(&mut self) {
        self.handles = self.handles.saturating_sub(1);
        if self.handles == 0 {
            self.connections.opening = None;
            self.stop_reconnecting();
        }
    }

    /// Starts or stops the timer for a silent connection.
    pub(super) fn watch_silence(&mut self) {
        let may_fold = self.handles == 0
            && self.connections.socket.is_some()
            && !self.running.performer.is_busy();
        if !may_fold {
            self.connections.silence = None;
        } else if self.connections.silence.is_none() {
            self.start_silence_timer(self.shared.clock.now());
        }
    }

    fn start_silence_timer(&mut self, since: Timestamp) {
        let due = since.after(self.agent.idle_fold_after);
        let (reached, own) = (self.shared.clock.reached(due), self.own.clone());
        self.connections.silences += 1;
        let number = self.connections.silences;
        self.connections.silence = Some(AbortOnDropHandle::new(tokio::spawn(async move {
            reached.await;
            let _ = own.send(Input::SilenceDue { number });
        })));
    }

    /// Disconnects if the connection was silent for long enough. An input or a handle that came
    /// first wins.
    pub(super) async fn disconnect_if_silent(&mut self, number: u64) -> Result<(), Error> {
        if self.connections.silence.is_none()
            || self.connections.silences != number
            || self.handles > 0
        {
            return Ok(());
        }
        self.connections.silence = None;
        // Audio bypasses the session, so it is checked here.
        let due = |passed: &Timestamp| passed.after(self.agent.idle_fold_after);
        let passed = self.connections.media.passed_at();
        if let Some(passed) = passed.filter(|it| due(it) > self.shared.clock.now()) {
            self.start_silence_timer(passed);
            return Ok(());
        }
        self.note_silence();
        self.disconnect("nobody holds the session and nothing was said")
            .await
    }
}

impl Stream {
    /// Snapshots the session if it has many new records, so that the next opening is fast.
    pub(super) async fn snapshot_ahead(&mut self) {
        if self.tail.seq.0 - self.folded.0 < PAYS_FROM {
            return;
        }
        self.folded = self.tail.seq;
        let (ledger, id) = (self.ledger.clone(), self.session.id);
        // Folded from the records, not from the state of this task, and on a blocking thread. The
        // load writes the snapshot; an error returns on the next load.
        let folded = tokio::task::spawn_blocking(move || block_on(ledger.load(id)).is_ok());
        let _ = folded.await;
    }
}
