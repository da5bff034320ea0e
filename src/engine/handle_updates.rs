//! Updates of the resumption handle: each replaces the one before, so the last of a row is enough.

use super::error::Error;
use super::task::SessionTask;
use crate::ledger::Objects;
use crate::session::{Observation, ResumptionHandle, Seq, Timestamp};

/// The interval, in milliseconds, after which an update that follows another one is recorded for
/// itself: that much of the conversation's media a crash may lose from the handle.
const INTERVAL_MS: u64 = 10_000;

/// The newest update that is not on record yet.
///
/// It is held back only while nothing else goes on record, so it covers what it covered when it
/// came. It is recorded before whatever comes next: words, the end of the connection, a shutdown.
#[derive(Debug, Default)]
pub(super) struct HandleUpdates {
    held: Option<(Observation, Option<ResumptionHandle>)>,
    /// The record of the last update, and when it was recorded.
    last: Option<(Seq, Timestamp)>,
}

impl SessionTask {
    /// Records what a frame says. An update of the handle that only follows another one is held.
    pub(super) async fn record_heard(
        &mut self,
        observations: Vec<Observation>,
        handle: Option<ResumptionHandle>,
    ) -> Result<(), Error> {
        let now = self.clock.now();
        let is_update = |it: &Observation| matches!(it, Observation::ResumptionHandleReceived(_));
        let only = observations.iter().all(is_update);
        let updates = &mut self.reconnecting.updates;
        let follows = updates.last.is_some_and(|(record, at)| {
            record == self.session.head && now < at.after_ms(INTERVAL_MS)
        });
        if only && follows {
            // One that says that there is no handle now leaves the former in force.
            let replaces = handle.is_some() || updates.held.is_none();
            if let (true, Some(newest)) = (replaces, observations.into_iter().next_back()) {
                updates.held = Some((newest, handle));
            }
            return Ok(());
        }
        if only && handle.is_some() {
            updates.held = None;
        }
        self.put(observations, Objects::default()).await?;
        if only {
            self.reconnecting.updates.last = Some((self.session.head, now));
        }
        self.perform().await?;
        if let Some(handle) = handle {
            self.keep_handle(&handle).await;
        }
        Ok(())
    }

    /// Records the update that is held back, before something that needs it.
    pub(super) async fn record_handle(&mut self) -> Result<(), Error> {
        let Some((update, handle)) = self.reconnecting.updates.held.take() else {
            return Ok(());
        };
        // The batch of another kind of record must not take it up a second time.
        Box::pin(self.put(vec![update], Objects::default())).await?;
        if let Some(handle) = handle {
            self.keep_handle(&handle).await;
        }
        Ok(())
    }
}
