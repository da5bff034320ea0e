//! The recorded model: a connection of frames.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::fixture::{Refused, Step, Timed};
use crate::live::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};
use crate::session::Observation;

/// The beginning of a frame whose words are not on record; no frame of a service has it, because it
/// is no JSON.
const UNWORDED: &str = "\u{0}";

/// A try to connect whose outcome has not come.
struct Opening {
    frames: mpsc::UnboundedSender<Result<String, ConnectionLost>>,
    outcome: Result<(), Refused>,
}

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
    /// The last try, until its outcome comes in its turn.
    opening: Option<Opening>,
    frames: Option<mpsc::UnboundedSender<Result<String, ConnectionLost>>>,
    sent: VecDeque<String>,
    /// The observations of frames whose words are not on record, by the numbers that they bear.
    unworded: Vec<Observation>,
    /// True if no connection beyond `tries` comes: the process was gone before, or the runner let
    /// go.
    hangs: bool,
}

impl RecordedModel {
    /// The model of a process whose steps these are; a connection beyond them comes never, because
    /// the process was gone before or let go of the session. One is refused where there is none in
    /// the steps of a process that is not to be gone.
    pub(super) fn new(name: Option<String>, steps: &[Timed], hangs: bool) -> RecordedModel {
        let tries: VecDeque<Result<(), Refused>> = steps
            .iter()
            .filter_map(|timed| match &timed.step {
                Step::ConnectionOpened => Some(Ok(())),
                Step::ConnectionRefused(refused) => Some(Err(refused.clone())),
                Step::FrameOut(_)
                | Step::FrameIn(_)
                | Step::TextIn(_)
                | Step::ConnectionAsked
                | Step::ConnectionLost(_)
                | Step::ProcessGone(_)
                | Step::ProcessBegan(_)
                | Step::Observed(_) => None,
            })
            .collect();
        let hangs = hangs || !tries.is_empty();
        let stage = Stage {
            tries,
            tried: 0,
            opening: None,
            frames: None,
            sent: VecDeque::new(),
            unworded: Vec::new(),
            hangs,
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

    /// Lets the outcome of the last try come: the connection, or why there is none.
    pub(super) fn open(&self) {
        let mut stage = self.lock();
        let Some(Opening { frames, outcome }) = stage.opening.take() else {
            return;
        };
        match outcome {
            Ok(()) => {
                let _ = frames.send(Ok(r#"{"setupComplete":{}}"#.to_owned()));
                stage.frames = Some(frames);
            }
            Err(Refused { code, reason }) => {
                let _ = frames.send(Err(ConnectionLost { code, reason }));
            }
        }
    }

    /// Sends a frame; whether somebody is connected.
    pub(super) fn send(&self, frame: &str) -> bool {
        let frames = self.lock().frames.clone();
        frames.is_some_and(|it| it.send(Ok(frame.to_owned())).is_ok())
    }

    /// Sends a frame whose words are not on record, by its number. Returns false without a
    /// connection.
    pub(super) fn send_unworded(&self, came_to: Observation) -> bool {
        let number = {
            let mut stage = self.lock();
            stage.unworded.push(came_to);
            stage.unworded.len() - 1
        };
        self.send(&format!("{UNWORDED}{number}"))
    }

    /// The observation of a frame whose words are not on record.
    pub(super) fn came_to(&self, frame: &str) -> Option<Observation> {
        let number: usize = frame.strip_prefix(UNWORDED)?.parse().ok()?;
        self.lock().unworded.get(number).cloned()
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

    /// True if the process is gone while it tries to connect.
    fn is_to_hang(&self) -> bool {
        let stage = self.lock();
        stage.hangs && stage.tries.is_empty()
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
        if self.is_to_hang() {
            return std::future::pending().await;
        }
        let mut stage = self.lock();
        stage.tried += 1;
        let (frames, receiver) = mpsc::unbounded_channel();
        // Whatever comes of it comes after the setup was heard.
        match stage.tries.pop_front() {
            Some(outcome) => stage.opening = Some(Opening { frames, outcome }),
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
