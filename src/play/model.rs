//! The recorded model: a connection that sends recorded frames.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::fixture::{Refused, Step, Timed};
use crate::live::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};
use crate::session::Observation;

/// The prefix of a frame whose text is not recorded. No frame of a service has it, because it is no
/// JSON.
const UNWORDED: &str = "\u{0}";

/// A connection attempt without an outcome so far.
struct Opening {
    frames: mpsc::UnboundedSender<Result<String, ConnectionLost>>,
    outcome: Result<(), Refused>,
}

/// A model that sends recorded frames on demand, and keeps the frames that it receives.
#[derive(Clone)]
pub(super) struct RecordedModel {
    /// The model's name, as sent to the service.
    name: Option<String>,
    stage: Arc<Mutex<Stage>>,
}

struct Stage {
    /// The outcomes of the connection attempts to come.
    tries: VecDeque<Result<(), Refused>>,
    tried: usize,
    /// The last attempt, until the step with its outcome.
    opening: Option<Opening>,
    frames: Option<mpsc::UnboundedSender<Result<String, ConnectionLost>>>,
    sent: VecDeque<String>,
    /// The observations of frames whose text is not recorded, by the number in the frame.
    unworded: Vec<Observation>,
    /// True if attempts beyond `tries` stay pending: the recorded process was killed or the runner
    /// detached before.
    hangs: bool,
    /// The number of further messages of a relayed connection that count as written. `None` is no
    /// limit.
    written_max: Option<u64>,
}

impl RecordedModel {
    /// The model of a process with these steps. An attempt beyond them stays pending, because the
    /// recorded process was killed or the runner detached before. It is refused instead if the
    /// steps have no connection at all and the process is not killed.
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
                | Step::ClientConnected(_)
                | Step::ConnectionLost(_)
                | Step::ProcessGone(_)
                | Step::ProcessBegan(_)
                | Step::ToolsChanged(_)
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
            written_max: None,
        };
        RecordedModel {
            name,
            stage: Arc::new(Mutex::new(stage)),
        }
    }

    /// The number of connection attempts.
    pub(super) fn tried(&self) -> usize {
        self.lock().tried
    }

    /// Delivers the outcome of the last attempt: the connection, or the reason why there is none.
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

    /// Sends a frame. Returns false without a connection.
    pub(super) fn send(&self, frame: &str) -> bool {
        let frames = self.lock().frames.clone();
        frames.is_some_and(|it| it.send(Ok(frame.to_owned())).is_ok())
    }

    /// Sends a frame whose text is not recorded, by its number. Returns false without a connection.
    pub(super) fn send_unworded(&self, came_to: Observation) -> bool {
        let number = {
            let mut stage = self.lock();
            stage.unworded.push(came_to);
            stage.unworded.len() - 1
        };
        self.send(&format!("{UNWORDED}{number}"))
    }

    /// The observation of a frame whose text is not recorded.
    pub(super) fn came_to(&self, frame: &str) -> Option<Observation> {
        let number: usize = frame.strip_prefix(UNWORDED)?.parse().ok()?;
        self.lock().unworded.get(number).cloned()
    }

    /// Ends the connection. Returns false without one.
    pub(super) fn lose(&self, lost: &Refused) -> bool {
        let frames = self.lock().frames.take();
        let (code, reason) = (lost.code, lost.reason.clone());
        frames.is_some_and(|it| it.send(Err(ConnectionLost { code, reason })).is_ok())
    }

    /// Opens a connection that a gateway relays, and returns its frames.
    pub(super) fn relay(&self) -> Box<dyn FrameReceiver> {
        let (frames, receiver) = mpsc::unbounded_channel();
        self.lock().frames = Some(frames);
        Box::new(Receiver(receiver))
    }

    /// Limits the number of messages of relayed connections that count as written: the recorded
    /// process was killed before it recorded that more of them were.
    pub(super) fn limit_written(&self, max: u64) {
        self.lock().written_max = Some(max);
    }

    /// Keeps a message that a relayed connection sent. Returns true if it counts as written.
    pub(super) fn relayed(&self, message: String) -> bool {
        let mut stage = self.lock();
        stage.sent.push_back(message);
        let left = stage.written_max.map(|max| max.checked_sub(1));
        stage.written_max = left.map(Option::unwrap_or_default);
        left != Some(None)
    }

    /// Keeps a frame that was sent.
    fn sent(&self, frame: String) {
        self.lock().sent.push_back(frame);
    }

    /// Removes the oldest frame that was sent.
    pub(super) fn take_sent(&self) -> Option<String> {
        self.lock().sent.pop_front()
    }

    /// True if the recorded process was killed, or detached, before this attempt ended.
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
        // The outcome comes after the setup was received.
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
        self.0.sent(frame);
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
            // The recorded model keeps the connection open when it has no more frames.
            None => std::future::pending().await,
        }
    }
}
