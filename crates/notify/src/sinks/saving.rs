//! The saving of a sink's state, and what operators see if it fails.

use std::io;
use std::time::Duration;

use tokio::time::Instant;

use super::task::SinkTask;

/// The time until the state is saved again after a failure.
const SAVE_AGAIN_AFTER: Duration = Duration::from_secs(5);

impl SinkTask {
    /// Saves the state soon.
    pub(super) fn save_within(&mut self, wait: Duration) {
        let at = Instant::now() + wait;
        self.save_at = Some(self.save_at.map_or(at, |it| it.min(at)));
    }

    /// Saves the state. If that fails, the sink goes on, and operators see the reason until the
    /// state is saved: after a crash, messages would be sent again, and those of a sink without a
    /// file would be lost.
    pub(super) async fn save(&mut self) {
        self.save_at = None;
        let (sink, path) = (&self.sink.name, self.file.path().display());
        match self.written().await {
            Ok(()) => {
                if self.board.is_saved() {
                    tracing::warn!(%sink, %path, "the place of a sink is saved again");
                }
            }
            Err(error) => {
                let reason = format!("the file {path} cannot be written ({error})");
                if self.board.is_not_saved(reason, self.clock.now()) {
                    tracing::error!(%sink, %path, %error, "the place of a sink cannot be saved");
                }
                self.save_at = Some(Instant::now() + SAVE_AGAIN_AFTER);
            }
        }
    }

    /// Writes the state, on a thread that may wait for the disk.
    async fn written(&self) -> io::Result<()> {
        let (file, mut state) = (self.file.clone(), self.state.clone());
        state.queue = self.outbox.queue();
        let saved = tokio::task::spawn_blocking(move || file.save(&state)).await;
        saved.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}
