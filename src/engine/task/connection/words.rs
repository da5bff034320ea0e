//! The user's text: sent at once or once the model accepts it, in the order of sending.

use crate::engine::error::Error;
use crate::engine::inputs::inbox::{Reply, Words};
use crate::engine::task::session_task::SessionTask;

impl SessionTask {
    /// Sends text, or queues it until it can be sent.
    pub(in crate::engine) async fn words_came(
        &mut self,
        words: Words,
        reply: Reply<()>,
    ) -> Result<(), Error> {
        let Words { text, place } = words;
        let place = place.unwrap_or_else(|| self.connections.media.place_of_words());
        if self.is_between_connections() || self.has_words_wait() {
            let unsaid = &mut self.connections.reconnecting.unsaid;
            unsaid.push_back((text, place, reply));
            if unsaid.len() == 1 && self.stream.session.leaving.is_none() {
                self.connections.media.wait_for_words(place);
            }
            return Ok(());
        }
        let outcome = self.send_text(text, place).await;
        self.hand_back(reply, outcome)
    }

    /// Sends the queued text of the user, each item after the live input before it.
    pub(super) async fn say_unsaid(&mut self) -> Result<(), Error> {
        while let Some((text, place, reply)) = self.connections.reconnecting.unsaid.pop_front() {
            self.connections.media.wait_for_words(place);
            let outcome = self.send_text(text, place).await;
            self.hand_back(reply, outcome)?;
        }
        self.connections.media.go_on();
        Ok(())
    }
}
