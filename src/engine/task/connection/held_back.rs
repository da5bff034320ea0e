//! Repeated service messages, held back from the record until a later message needs them.

use tokio_util::task::AbortOnDropHandle;

use crate::engine::connection::held_back::repeats;
use crate::engine::error::Error;
use crate::engine::inputs::inbox::Input;
use crate::engine::task::session_task::SessionTask;
use crate::ledger::Objects;
use crate::session::{Observation, ResumptionHandle};

fn handles_only(observations: &[Observation]) -> bool {
    let is_update = |it: &Observation| matches!(it, Observation::ResumptionHandleReceived(_));
    observations.iter().all(is_update)
}

impl SessionTask {
    /// Records the observations of a frame, or holds them back if they only repeat.
    pub(in crate::engine) async fn record_heard(
        &mut self,
        observations: Vec<Observation>,
        handle: Option<ResumptionHandle>,
    ) -> Result<(), Error> {
        let now = self.shared.clock.now();
        let held = &mut self.connections.reconnecting.held;
        let only = observations.iter().all(|it| repeats(it).is_some());
        if held
            .last
            .is_none_or(|(record, _)| record != self.stream.session.head)
        {
            (held.last, held.row) = (None, 0);
        }
        if only && held.takes(&observations, now) {
            held.hold(observations, handle);
            self.set_timer_of_held();
            return Ok(());
        }
        let row = held.row.saturating_add(1);
        let is_update = handles_only(&observations);
        self.put(observations, Objects::default()).await?;
        if only {
            let held = &mut self.connections.reconnecting.held;
            held.last = Some((self.stream.session.head, now));
            (held.row, held.is_update) = (row, is_update);
        }
        self.perform().await?;
        if let Some(handle) = handle {
            self.keep_handle(&handle).await;
        }
        Ok(())
    }

    /// Records the held-back messages before another record is appended.
    pub(in crate::engine) async fn record_held(&mut self) -> Result<(), Error> {
        let (batch, handle) = self.connections.reconnecting.held.take();
        if batch.is_empty() {
            return Ok(());
        }
        // `put` calls this method again; the messages are taken above, so it records them only
        // once.
        Box::pin(self.put(batch, Objects::default())).await?;
        if let Some(handle) = handle {
            self.keep_handle(&handle).await;
        }
        Ok(())
    }

    /// Records the held-back messages once their time has come. The row continues.
    pub(in crate::engine) async fn held_due(&mut self) -> Result<(), Error> {
        let now = self.shared.clock.now();
        if self
            .connections
            .reconnecting
            .held
            .due()
            .is_none_or(|due| now < due)
        {
            self.set_timer_of_held();
            return Ok(());
        }
        self.record_held().await?;
        self.connections.reconnecting.held.last = Some((self.stream.session.head, now));
        self.perform().await
    }

    fn set_timer_of_held(&mut self) {
        let held = &mut self.connections.reconnecting.held;
        let Some(due) = held.due() else {
            held.timer = None;
            return;
        };
        if held.timer.as_ref().is_some_and(|(at, _)| *at <= due) {
            return;
        }
        let (reached, own) = (self.shared.clock.reached(due), self.own.clone());
        let waits = tokio::spawn(async move {
            reached.await;
            let _ = own.send(Input::HeldDue);
        });
        held.timer = Some((due, AbortOnDropHandle::new(waits)));
    }
}
