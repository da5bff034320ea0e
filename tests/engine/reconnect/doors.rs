//! A connector whose next connections may fail.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use recount::live::wire::ClientMessage;
use recount::live::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};
use recount::testing::ScriptedModel;

/// The result of the next connection. Later connections reach the model.
#[derive(Clone, Debug)]
pub(crate) enum Door {
    /// The connection reaches the model.
    Open,
    /// The network is down.
    Unreachable,
    /// The setup is rejected with this code.
    Refused(u16),
    /// The setup is never answered.
    Silent,
}

/// A connector to a model, with queued failures.
#[derive(Clone)]
pub(crate) struct Doors {
    model: ScriptedModel,
    next: Arc<Mutex<VecDeque<Door>>>,
    /// The handle of each setup, or `none`.
    shown: Arc<Mutex<Vec<String>>>,
}

impl Doors {
    pub(crate) fn new(model: ScriptedModel) -> Doors {
        Doors {
            model,
            next: Arc::default(),
            shown: Arc::default(),
        }
    }

    /// Queues the results of the next connections.
    pub(crate) fn meet(&self, doors: impl IntoIterator<Item = Door>) {
        self.next.lock().unwrap().extend(doors);
    }

    /// The handles of all setups so far.
    pub(crate) fn shown(&self) -> Vec<String> {
        self.shown.lock().unwrap().clone()
    }
}

#[async_trait]
impl Connector for Doors {
    fn endpoint(&self) -> String {
        "scripted".to_owned()
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        let door = self.next.lock().unwrap().pop_front();
        let connection = match door.unwrap_or(Door::Open) {
            Door::Open => self.model.connect().await?,
            Door::Unreachable => {
                return Err(ConnectError::Unreachable {
                    endpoint: self.endpoint(),
                    reason: "no route".to_owned(),
                });
            }
            barred @ (Door::Refused(_) | Door::Silent) => Connection {
                sender: Box::new(Swallows),
                receiver: Box::new(Barred(barred)),
            },
        };
        let sender = Watched {
            sender: connection.sender,
            shown: self.shown.clone(),
        };
        Ok(Connection {
            sender: Box::new(sender),
            receiver: connection.receiver,
        })
    }
}

/// A sender that notes the handle of each setup.
struct Watched {
    sender: Box<dyn FrameSender>,
    shown: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl FrameSender for Watched {
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost> {
        let message = ClientMessage::decode(&frame).unwrap();
        if let Some(setup) = message.setup {
            let asked = setup
                .session_resumption
                .expect("every setup asks for handles");
            let handle = asked.handle.unwrap_or_else(|| "none".to_owned());
            self.shown.lock().unwrap().push(handle);
        }
        self.sender.send(frame).await
    }

    /// Closes slowly, so that a caller that does not wait opens the next connection too early.
    async fn close(&mut self) {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        self.sender.close().await;
    }
}

struct Swallows;

struct Barred(Door);

#[async_trait]
impl FrameSender for Swallows {
    async fn send(&mut self, _frame: String) -> Result<(), ConnectionLost> {
        Ok(())
    }

    async fn close(&mut self) {}
}

#[async_trait]
impl FrameReceiver for Barred {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        match self.0 {
            Door::Refused(code) => Err(ConnectionLost {
                code: Some(code),
                reason: "Request contains an invalid argument.".to_owned(),
            }),
            Door::Open | Door::Unreachable | Door::Silent => pending().await,
        }
    }
}
