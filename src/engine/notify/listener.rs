//! The reader of a conversation as it happens.

use tokio::sync::broadcast;

use crate::engine::inputs::registry::TaskRef;
use crate::engine::live_media::live_event::LiveEvent;

/// A conversation as it happens.
pub struct Listener {
    pub(in crate::engine) receiver: broadcast::Receiver<LiveEvent>,
    /// The session's task, which ends one day, as the session does.
    pub(in crate::engine) task: TaskRef,
}

impl Listener {
    /// The next event; `None` once the session is closed, or nobody serves it any more.
    ///
    /// A listener that falls hundreds of events behind loses the oldest and is told how many:
    /// [`LiveEvent::Lagged`].
    ///
    /// ```no_run
    /// # async fn example(live: recount::LiveHandle) {
    /// use recount::engine::LiveEvent;
    ///
    /// let mut heard = live.listen();
    /// while let Some(event) = heard.next().await {
    ///     if let LiveEvent::Audio { data, .. } = event {
    ///         println!("{} bytes to play", data.len());
    ///     }
    /// }
    /// # }
    /// ```
    pub async fn next(&mut self) -> Option<LiveEvent> {
        let received = tokio::select! {
            biased;
            received = self.receiver.recv() => received,
            () = self.task.over.cancelled() => return None,
            () = self.task.inbox.closed() => return None,
        };
        match received {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(lost)) => Some(LiveEvent::Lagged(lost)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}
