//! A model without a socket: what it sends back for each frame is a function.

use async_trait::async_trait;
use recount::live::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};
use tokio::sync::mpsc;

/// What a connection sends back for a frame.
pub(crate) type Reply = Box<dyn FnMut(&str) -> Option<String> + Send>;

/// A way to the model; each connection has a function of its own.
pub(crate) struct Peer<C>(pub(crate) C);

struct Hears {
    reply: Reply,
    frames: mpsc::UnboundedSender<String>,
}

struct Says(mpsc::UnboundedReceiver<String>);

#[async_trait]
impl<C: Fn() -> Reply + Send + Sync + 'static> Connector for Peer<C> {
    fn endpoint(&self) -> String {
        "peer".to_owned()
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        let (frames, said) = mpsc::unbounded_channel();
        let reply = (self.0)();
        Ok(Connection {
            sender: Box::new(Hears { reply, frames }),
            receiver: Box::new(Says(said)),
        })
    }
}

#[async_trait]
impl FrameSender for Hears {
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost> {
        if let Some(reply) = (self.reply)(&frame) {
            // A client that no longer listens has hung up.
            let _ = self.frames.send(reply);
        }
        Ok(())
    }

    async fn close(&mut self) {}
}

#[async_trait]
impl FrameReceiver for Says {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        self.0.recv().await.ok_or_else(|| ConnectionLost {
            code: None,
            reason: "the peer is gone".to_owned(),
        })
    }
}
