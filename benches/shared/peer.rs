//! A model without a socket: a function returns the answer to each frame.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use recount::live::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};

/// The answer of a connection to a frame. The duration is the time since its last own frame was
/// ready to be received.
pub(crate) type Reply = Box<dyn FnMut(&str, Duration) -> Option<String> + Send>;

/// A connector to the model. Each connection has a function of its own.
pub(crate) struct Peer<C> {
    model: C,
    pub(crate) lines: Lines,
}

/// The connections to a model, in the order in which they were opened.
#[derive(Clone, Default)]
pub(crate) struct Lines(pub(crate) Arc<Mutex<Vec<Arc<Mutex<Line>>>>>);

pub(crate) struct Line {
    reply: Reply,
    /// The frames that are ready to be received.
    replies: VecDeque<String>,
    receiver: Option<Waker>,
    /// The time since which the last of them is ready.
    ready_since: Instant,
}

struct PeerSender(Arc<Mutex<Line>>);

struct PeerReceiver(Arc<Mutex<Line>>);

impl<C> Peer<C> {
    pub(crate) fn new(model: C) -> Peer<C> {
        let lines = Lines::default();
        Peer { model, lines }
    }
}

impl Line {
    /// Passes a frame to the model, from any side.
    pub(crate) fn deliver(line: &Mutex<Line>, frame: &str) {
        let receiver = {
            let mut line = lock(line);
            let since = line.ready_since.elapsed();
            let reply = (line.reply)(frame, since);
            let receiver = reply.as_ref().and_then(|_| line.receiver.take());
            line.replies.extend(reply);
            line.ready_since = Instant::now();
            receiver
        };
        let _ = receiver.map(Waker::wake);
    }
}

#[async_trait]
impl<C: Fn() -> Reply + Send + Sync + 'static> Connector for Peer<C> {
    fn endpoint(&self) -> String {
        "peer".to_owned()
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        let line = Arc::new(Mutex::new(Line {
            reply: (self.model)(),
            replies: VecDeque::new(),
            receiver: None,
            ready_since: Instant::now(),
        }));
        lock(&self.lines.0).push(line.clone());
        Ok(Connection {
            sender: Box::new(PeerSender(line.clone())),
            receiver: Box::new(PeerReceiver(line)),
        })
    }
}

#[async_trait]
impl FrameSender for PeerSender {
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost> {
        Line::deliver(&self.0, &frame);
        Ok(())
    }

    async fn close(&mut self) {}
}

#[async_trait]
impl FrameReceiver for PeerReceiver {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        poll_fn(|context| {
            let mut line = lock(&self.0);
            let Some(reply) = line.replies.pop_front() else {
                line.receiver = Some(context.waker().clone());
                return Poll::Pending;
            };
            Poll::Ready(Ok(reply))
        })
        .await
    }
}

fn lock<T>(of_peer: &Mutex<T>) -> MutexGuard<'_, T> {
    of_peer.lock().unwrap_or_else(PoisonError::into_inner)
}
