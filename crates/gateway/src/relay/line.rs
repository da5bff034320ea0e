//! One direction of a connection: messages that wait to be written, in order and bounded.

use std::collections::VecDeque;
use std::task::{Context, Poll, ready};

use futures_util::Sink;
use tokio_tungstenite::tungstenite::{Error, Message};

/// The maximum memory of waiting messages, in bytes. Then the other side is read no more.
const WAITING_MAX: usize = 1 << 20;

/// The messages that wait for one side.
#[derive(Default)]
pub(crate) struct Line {
    waiting: VecDeque<Message>,
    bytes: usize,
    is_unflushed: bool,
}

impl Line {
    /// Adds a message. One more than there is room for is taken, too.
    pub(crate) fn push(&mut self, message: Message) {
        self.bytes += message.len();
        self.waiting.push_back(message);
    }

    /// True if the other side may be read.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes < WAITING_MAX
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
            if let Some(message) = self.waiting.pop_front() {
                self.bytes -= message.len();
                self.is_unflushed = true;
                sink.as_mut().start_send(message)?;
            }
        }
        ready!(sink.as_mut().poll_flush(context))?;
        self.is_unflushed = false;
        Poll::Ready(Ok(()))
    }
}
