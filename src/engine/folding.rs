//! A connection that nobody here holds, because it was opened to tell an outcome, ends once nothing is said on it any more.

use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

use super::error::Error;
use super::inbox::Input;
use super::task::SessionTask;

/// How long user and model may be silent unless the agent says otherwise.
pub(super) const IDLE_FOLD_AFTER: Duration = Duration::from_secs(60);

impl SessionTask {
    /// Begins to wait for the end of a silence, or stops to.
    pub(super) fn watch_silence(&mut self) {
        let may_fold = self.handles == 0 && self.socket.is_some() && !self.performer.is_busy();
        if !may_fold {
            self.silence = None;
        } else if self.silence.is_none() {
            let after = self.agent.idle_fold_after;
            let due = self.clock.now().after(after);
            let (reached, own) = (self.clock.reached(due), self.own.clone());
            self.silences += 1;
            let number = self.silences;
            self.silence = Some(AbortOnDropHandle::new(tokio::spawn(async move {
                reached.await;
                let _ = own.send(Input::SilenceDue { number });
            })));
        }
    }

    /// It was silent for long enough, unless somebody spoke or came at this very moment.
    pub(super) async fn fold_if_silent(&mut self, number: u64) -> Result<(), Error> {
        if self.silence.is_none() || self.silences != number || self.handles > 0 {
            return Ok(());
        }
        self.silence = None;
        self.note_silence();
        self.disconnect("nobody holds the session and nothing was said")
            .await
    }
}
