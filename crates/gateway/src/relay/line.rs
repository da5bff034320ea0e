//! One direction of a connection: messages that wait to be written, in order and bounded.

use std::collections::VecDeque;
use std::task::{Context, Poll, ready};

use futures_util::Sink;
use tokio_tungstenite::tungstenite::{Error, Message};

/// The maximum memory of waiting messages, in bytes. Then the other side is read no more.
const WAITING_MAX: usize = 1 << 20;

/// The maximum memory of waiting messages of the gateway's own, in bytes. Then nothing that causes
/// more of them is taken.
const OWN_MAX: usize = 1 << 20;

/// The memory of a message besides its payload, in bytes. So the number of small messages is
/// bounded, too: 8,192.
const MESSAGE: usize = 128;

/// The messages that wait for one side.
#[derive(Default)]
pub(crate) struct Line {
    /// Each is with true if it is the gateway's own.
    waiting: VecDeque<(Message, bool)>,
    bytes: usize,
    own: usize,
    is_unflushed: bool,
}

impl Line {
    /// Adds a message of the other side. One more than there is room for is taken, too.
    pub(crate) fn push(&mut self, message: Message) {
        self.bytes += size(&message);
        self.waiting.push_back((message, false));
    }

    /// Adds a message of the gateway's own, such as an answer to a call.
    pub(crate) fn push_own(&mut self, message: Message) {
        self.bytes += size(&message);
        self.own += size(&message);
        self.waiting.push_back((message, true));
    }

    /// True if the other side may be read.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes < WAITING_MAX
    }

    /// True if the gateway may make more messages of its own.
    pub(crate) fn has_room_for_own(&self) -> bool {
        self.own < OWN_MAX
    }

    /// True if no message waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes the first message that waits.
    pub(crate) fn pop(&mut self) -> Option<Message> {
        let (message, is_own) = self.waiting.pop_front()?;
        self.bytes -= size(&message);
        self.own -= if is_own { size(&message) } else { 0 };
        Some(message)
    }

    /// True if something is to be written or flushed.
    pub(crate) fn has_work(&self) -> bool {
        self.is_unflushed || !self.waiting.is_empty()
    }

    /// Writes what waits. Completes when all is flushed.
    pub(crate) fn poll_write<S>(
        &mut self,
        mut sink: std::pin::Pin<&mut S>,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), Error>>
    where
        S: Sink<Message, Error = Error>,
    {
        loop {
            if self.waiting.is_empty() {
                break;
            }
            ready!(sink.as_mut().poll_ready(context))?;
            if let Some(message) = self.pop() {
                self.is_unflushed = true;
                sink.as_mut().start_send(message)?;
            }
        }
        ready!(sink.as_mut().poll_flush(context))?;
        self.is_unflushed = false;
        Poll::Ready(Ok(()))
    }
}

fn size(message: &Message) -> usize {
    message.len().saturating_add(MESSAGE)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;

    use futures_util::SinkExt;

    use super::*;

    #[tokio::test]
    async fn waiting_messages_are_bounded_in_number_and_bytes() {
        for (bytes, most) in [(0, 8_192), (1 << 19, 2)] {
            let (mut line, mut own) = (Line::default(), Line::default());
            for _ in 0..most {
                assert!(line.has_room() && own.has_room_for_own());
                line.push(Message::binary(vec![0; bytes]));
                own.push_own(Message::binary(vec![0; bytes]));
            }
            assert!(!line.has_room() && line.has_room_for_own());
            assert!(!own.has_room() && !own.has_room_for_own());
            for line in [&mut line, &mut own] {
                let sink = futures_util::sink::drain().sink_map_err(|it| match it {});
                let mut sink = pin!(sink);
                poll_fn(|it| line.poll_write(sink.as_mut(), it))
                    .await
                    .unwrap();
                assert!(line.has_room() && line.has_room_for_own() && !line.has_work());
            }
        }
    }
}
