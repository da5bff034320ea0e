//! A model without a socket: what it sends back for each frame is a function.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use async_trait::async_trait;
use recount::live::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};

/// What a connection sends back for a frame.
pub(crate) type Reply = Box<dyn FnMut(&str) -> Option<String> + Send>;

/// A way to the model; each connection has a function of its own.
pub(crate) struct Peer<C>(pub(crate) C);

struct Hears {
    reply: Reply,
    said: Arc<Said>,
}

/// What was sent back and is not received yet. Nobody is woken for it, since a socket's wakes are not what is measured: whoever receives is
/// polled by the same task as whoever sends, and behind it.
#[derive(Default)]
struct Said(Mutex<VecDeque<String>>);

struct Says(Arc<Said>);

#[async_trait]
impl<C: Fn() -> Reply + Send + Sync + 'static> Connector for Peer<C> {
    fn endpoint(&self) -> String {
        "peer".to_owned()
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        let said = Arc::<Said>::default();
        let reply = (self.0)();
        Ok(Connection {
            sender: Box::new(Hears {
                reply,
                said: said.clone(),
            }),
            receiver: Box::new(Says(said)),
        })
    }
}

#[async_trait]
impl FrameSender for Hears {
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost> {
        if let Some(reply) = (self.reply)(&frame) {
            let mut said = self.said.0.lock().unwrap_or_else(PoisonError::into_inner);
            said.push_back(reply);
        }
        Ok(())
    }

    async fn close(&mut self) {}
}

#[async_trait]
impl FrameReceiver for Says {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        let next = || {
            let mut said = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
            said.pop_front()
        };
        poll_fn(|_| next().map_or(Poll::Pending, |it| Poll::Ready(Ok(it)))).await
    }
}
