//! The session's timer, set to its earliest deadline.

use tokio_util::task::AbortOnDropHandle;

use super::session_task::SessionTask;
use super::timer::Timer;
use crate::engine::error::Error;
use crate::engine::inputs::inbox::Input;

impl SessionTask {
    /// Sets the timer to the session's earliest deadline.
    pub(super) fn set_timer(&mut self) {
        let Some(due) = self.running.performer.first_due() else {
            return;
        };
        // If the clock was set forward, a timer whose time is past may still sleep.
        let now = self.shared.clock.now();
        let serves = |timer: &Timer| now < timer.due && timer.due <= due;
        if self.running.timer.as_ref().is_some_and(serves) {
            return;
        }
        let (reached, own) = (self.shared.clock.reached(due), self.own.clone());
        let sleeps = tokio::spawn(async move {
            reached.await;
            let _ = own.send(Input::DeadlineReached);
        });
        self.running.timer = Some(Timer {
            due,
            _sleeps: AbortOnDropHandle::new(sleeps),
        });
    }

    /// Records what is due now, and sets the timer for the next deadline.
    pub(super) async fn deadline_reached(&mut self) -> Result<(), Error> {
        self.running.timer = None;
        self.record(Vec::new()).await
    }
}
