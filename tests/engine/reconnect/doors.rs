//! The way to the model, which may be barred.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use recount::live::wire::ClientMessage;
use recount::live::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};
use recount::testing::ScriptedModel;

/// What the next connection meets; those after the last one meet the model.
#[derive(Clone, Debug)]
pub(crate) enum Door {
    /// The model.
    Open,
    /// The network is down.
    Unreachable,
    /// The setup is refused with this code.
    Refused(u16),
    /// Nobody ever answers the setup.
    Silent,
}

/// Opens connections to a model, through doors.
#[derive(Clone)]
pub(crate) struct Doors {
    model: ScriptedModel,
    next: Arc<Mutex<VecDeque<Door>>>,
    /// What each setup shows: its handle, and whether it announces a history.
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

    /// Sets up what the connections from now on meet.
    pub(crate) fn meet(&self, doors: impl IntoIterator<Item = Door>) {
        self.next.lock().unwrap().extend(doors);
    }

    /// What each setup showed so far: its handle, or that it has none.
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

/// Notes what a setup shows.
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

    /// Takes its time, so that whoever does not wait for it is too early with the next connection.
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
