//! The user's text: sent at once or once the model accepts it, in the order of sending.

use crate::engine::error::Error;
use crate::engine::inputs::inbox::{Reply, UserText};
use crate::engine::task::session_task::SessionTask;

impl SessionTask {
    /// Sends text, or queues it until it can be sent.
    pub(in crate::engine) async fn send_or_queue_text(
        &mut self,
        user_text: UserText,
        reply: Reply<()>,
    ) -> Result<(), Error> {
        let UserText { text, place } = user_text;
        let place = place.unwrap_or_else(|| self.connections.media.place_of_text());
        if self.is_between_connections() || self.must_text_wait() {
            let queued_text = &mut self.connections.reconnecting.queued_text;
            queued_text.push_back((text, place, reply));
            if queued_text.len() == 1 && self.stream.session.leaving.is_none() {
                self.connections.media.hold_for_text(place);
            }
            return Ok(());
        }
        let outcome = self.send_text(text, place).await;
        self.hand_back(reply, outcome)
    }

    /// Sends the queued text of the user, each item after the live input before it.
    pub(super) async fn send_queued_text(&mut self) -> Result<(), Error> {
        while let Some((text, place, reply)) = self.connections.reconnecting.queued_text.pop_front()
        {
            self.connections.media.hold_for_text(place);
            let outcome = self.send_text(text, place).await;
            self.hand_back(reply, outcome)?;
        }
        self.connections.media.release();
        Ok(())
    }
}
