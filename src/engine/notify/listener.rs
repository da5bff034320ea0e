//! The reader of a live conversation.

use tokio::sync::broadcast;

use crate::engine::inputs::registry::TaskRef;
use crate::engine::live_media::live_event::LiveEvent;

/// A reader of the events of a live conversation.
pub struct Listener {
    pub(in crate::engine) receiver: broadcast::Receiver<LiveEvent>,
    /// The session's task, whose end ends the listener.
    pub(in crate::engine) task: TaskRef,
}

impl Listener {
    /// Returns the next event; `None` once the session is closed or its task has ended.
    ///
    /// A listener that falls hundreds of events behind loses the oldest. [`LiveEvent::Lagged`]
    /// reports how many.
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
