//! Outgoing text that waits while a model accepts no live input.

use crate::engine::connection::writer::{Carried, Outgoing};
use crate::engine::error::Error;
use crate::engine::task::parts::Stream;
use crate::engine::task::session_task::SessionTask;
use crate::live::Told;
use crate::session::Seq;

impl SessionTask {
    /// Reports to the media path whether the model waits for a response.
    pub(in crate::engine) fn note_waiting(&self) {
        if let (true, Some(epoch)) = (self.agent.withholds_input, self.stream.session.connection) {
            let blocking = |name: &str| !self.agent.non_blocking.iter().any(|it| it == name);
            self.connections
                .media
                .note(epoch, self.stream.session.model_waits(blocking));
        }
    }

    /// True if the user's text has to wait.
    pub(super) fn must_text_wait(&self) -> bool {
        !self.agent.capabilities.client_content && self.connections.media.is_withholding()
    }

    /// Sends text of the engine as conversation, as soon as the model waits for no response.
    pub(in crate::engine) fn send_as_conversation(
        &mut self,
        epoch: Seq,
        text: String,
        carries: Option<Carried>,
        told: Option<Told>,
    ) {
        let words = Outgoing {
            text,
            carries,
            told,
            after: None,
        };
        self.connections.kept.push((epoch, words));
        self.send_kept_text();
    }

    fn send_kept_text(&mut self) {
        if self.connections.media.is_withholding() {
            return;
        }
        for (epoch, words) in std::mem::take(&mut self.connections.kept) {
            if !self.stream.is_to_be_told(words.carries) {
                continue;
            }
            if let Some(socket) = self
                .connections
                .socket
                .as_ref()
                .filter(|it| it.epoch == epoch)
            {
                socket.write(words);
            }
        }
    }

    /// Sends the queued text that no longer has to wait.
    pub(in crate::engine) async fn send_waiting_text(&mut self) -> Result<(), Error> {
        if !self.agent.withholds_input || self.connections.socket.is_none() {
            return Ok(());
        }
        self.send_kept_text();
        if self.is_between_connections() || self.must_text_wait() {
            return Ok(());
        }
        self.send_queued_text().await
    }
}

impl Stream {
    /// True if the response that the text carries is still to be delivered on this route. Its call
    /// may have been cancelled while the text waited.
    fn is_to_be_told(&self, carries: Option<Carried>) -> bool {
        match carries {
            Some(Carried::Response(response, by)) => {
                let delivery = self.session.deliveries.get(&response);
                delivery.is_some_and(|it| it.route == by)
            }
            Some(Carried::Instruction(_)) | None => true,
        }
    }
}
