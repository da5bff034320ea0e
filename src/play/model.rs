//! The recorded model: a connection of frames.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::fixture::{Refused, Step, Timed};
use crate::live::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};

/// Gives what the model gave, when it is told to, and keeps what it is sent.
#[derive(Clone)]
pub(super) struct RecordedModel {
    /// As the service was told it.
    name: Option<String>,
    stage: Arc<Mutex<Stage>>,
}

struct Stage {
    /// What comes of each try to connect.
    tries: VecDeque<Result<(), Refused>>,
    tried: usize,
    frames: Option<mpsc::UnboundedSender<Result<String, ConnectionLost>>>,
    sent: VecDeque<String>,
}

impl RecordedModel {
    pub(super) fn new(name: Option<String>, steps: &[Timed]) -> RecordedModel {
        let tries = steps.iter().filter_map(|timed| match &timed.step {
            Step::ConnectionOpened => Some(Ok(())),
            Step::ConnectionRefused(refused) => Some(Err(refused.clone())),
            Step::FrameOut(_)
            | Step::FrameIn(_)
            | Step::TextIn(_)
            | Step::ConnectionLost(_)
            | Step::Observed(_) => None,
        });
        let stage = Stage {
            tries: tries.collect(),
            tried: 0,
            frames: None,
            sent: VecDeque::new(),
        };
        RecordedModel {
            name,
            stage: Arc::new(Mutex::new(stage)),
        }
    }

    /// How many tries to connect there were.
    pub(super) fn tried(&self) -> usize {
        self.lock().tried
    }

    /// Sends a frame; whether somebody is connected.
    pub(super) fn send(&self, frame: &str) -> bool {
        let frames = self.lock().frames.clone();
        frames.is_some_and(|it| it.send(Ok(frame.to_owned())).is_ok())
    }

    /// Ends the connection; whether there was one.
    pub(super) fn lose(&self, lost: &Refused) -> bool {
        let frames = self.lock().frames.take();
        let (code, reason) = (lost.code, lost.reason.clone());
        frames.is_some_and(|it| it.send(Err(ConnectionLost { code, reason })).is_ok())
    }

    /// The oldest frame that was sent and not taken yet.
    pub(super) fn take_sent(&self) -> Option<String> {
        self.lock().sent.pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Connector for RecordedModel {
    fn endpoint(&self) -> String {
        "recorded".to_owned()
    }

    fn model_name(&self, model: &str) -> String {
        let bare = model.strip_prefix("models/").unwrap_or(model);
        let recorded = self.name.as_ref().filter(|name| {
            let rest = name.strip_suffix(bare);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        });
        recorded.cloned().unwrap_or_else(|| {
            if model.contains('/') {
                model.to_owned()
            } else {
                format!("models/{model}")
            }
        })
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        let mut stage = self.lock();
        stage.tried += 1;
        let (frames, receiver) = mpsc::unbounded_channel();
        // Whoever sends the setup gets this for it; a refusal, too, comes after the setup was heard.
        match stage.tries.pop_front() {
            Some(Ok(())) => {
                let _ = frames.send(Ok(r#"{"setupComplete":{}}"#.to_owned()));
                stage.frames = Some(frames);
            }
            Some(Err(Refused { code, reason })) => {
                let _ = frames.send(Err(ConnectionLost { code, reason }));
            }
            None => {
                return Err(ConnectError::Unreachable {
                    endpoint: self.endpoint(),
                    reason: "the fixture has no further connection".to_owned(),
                });
            }
        }
        Ok(Connection {
            sender: Box::new(Sender(self.clone())),
            receiver: Box::new(Receiver(receiver)),
        })
    }
}

struct Sender(RecordedModel);

#[async_trait]
impl FrameSender for Sender {
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost> {
        self.0.lock().sent.push_back(frame);
        Ok(())
    }

    async fn close(&mut self) {}
}

struct Receiver(mpsc::UnboundedReceiver<Result<String, ConnectionLost>>);

#[async_trait]
impl FrameReceiver for Receiver {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        match self.0.recv().await {
            Some(incoming) => incoming,
            // A recorded model that has nothing to say does not hang up.
            None => std::future::pending().await,
        }
    }
}
