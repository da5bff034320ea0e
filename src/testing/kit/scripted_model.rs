//! A model that plays a script, without a socket.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::live::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};
use crate::simulator::{Action, ConnectionId, Player, Script, ScriptError, Transcript, Unmet};

/// A model for tests: the script of the simulator, played in this process.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use recount::prelude::*;
/// use recount::testing::ScriptedModel;
///
/// let model = ScriptedModel::parse(
///     r#"{"on": {"text": "weather"}, "send": [{"call": [{"id": "c1", "name": "weather"}]}]}
///        {"on": {"responses_to": ["c1"]}, "send": [{"say": "It is sunny."}]}"#,
/// )?;
/// let live = Live::builder()
///     .model("scripted")
///     .tools(T::simple("weather", "Tells the weather", |_| async { Ok(json!({"sky": "clear"})) }))
///     .connect_with(model.clone())
///     .await?;
/// let mut updates = live.subscribe();
/// live.send_text("How is the weather?").await?;
/// assert_eq!(updates.turn().await.as_deref(), Some("It is sunny."));
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone)]
pub struct ScriptedModel {
    stage: Arc<Mutex<Stage>>,
}

struct Stage {
    player: Player,
    latest: Option<(ConnectionId, mpsc::UnboundedSender<Incoming>)>,
}

type Incoming = Result<String, ConnectionLost>;

impl ScriptedModel {
    /// A model at the beginning of `script`.
    pub fn new(script: Script) -> ScriptedModel {
        let stage = Stage {
            player: Player::new(script),
            latest: None,
        };
        ScriptedModel {
            stage: Arc::new(Mutex::new(stage)),
        }
    }

    /// A model at the beginning of a script in JSON lines.
    ///
    /// # Errors
    /// The line that is no rule, and the reason.
    pub fn parse(script: &str) -> Result<ScriptedModel, ScriptError> {
        Script::parse(script).map(ScriptedModel::new)
    }

    /// The messages that were received and sent so far.
    pub fn transcript(&self) -> Transcript {
        self.lock().player.transcript().clone()
    }

    /// The expectations of the script that the client has not met so far.
    pub fn unmet(&self) -> Vec<Unmet> {
        self.lock().player.unmet()
    }

    /// Ends the connection, as the network does.
    pub fn drop_connection(&self, code: u16, reason: &str) {
        let mut stage = self.lock();
        if let Some((connection, frames)) = stage.latest.take() {
            stage.player.disconnect(connection, code, reason);
            let lost = ConnectionLost {
                code: Some(code),
                reason: reason.to_owned(),
            };
            let _ = frames.send(Err(lost));
        }
    }

    /// Sends a message that no rule sent.
    pub fn send(&self, message: &crate::live::wire::ServerMessage) {
        if let Some((_, frames)) = &self.lock().latest {
            let _ = frames.send(Ok(message.encode()));
        }
    }

    /// Performs the script's delayed actions in time.
    fn keep_time(&self, connection: ConnectionId, frames: &mpsc::UnboundedSender<Incoming>) {
        let Some(wait) = self.lock().player.wait(connection) else {
            return;
        };
        let (model, frames) = (self.clone(), frames.clone());
        tokio::spawn(async move {
            let mut next = Some(wait);
            while let Some(wait) = next {
                tokio::time::sleep(wait.duration).await;
                let mut stage = model.lock();
                // The wait was cancelled, or another task has ended it.
                if stage.player.wait(connection) != Some(wait) {
                    return;
                }
                hand_over(stage.player.wake(connection, wait), &frames);
                next = stage.player.wait(connection);
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Connector for ScriptedModel {
    fn endpoint(&self) -> String {
        "scripted".to_owned()
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        let (frames, receiver) = mpsc::unbounded_channel();
        let mut stage = self.lock();
        let connection = stage.player.connect();
        stage.latest = Some((connection, frames.clone()));
        hand_over(stage.player.due(connection), &frames);
        drop(stage);
        self.keep_time(connection, &frames);
        let sender = Sender {
            model: self.clone(),
            connection,
            frames,
        };
        Ok(Connection {
            sender: Box::new(sender),
            receiver: Box::new(Receiver(receiver)),
        })
    }
}

/// Sends the model's actions to the client.
fn hand_over(actions: Vec<Action>, frames: &mpsc::UnboundedSender<Incoming>) {
    for action in actions {
        let incoming = match action {
            Action::Send(message) => Ok(message.encode()),
            Action::SendRaw(frame) => Ok(String::from_utf8_lossy(&frame.bytes).into_owned()),
            // Without a socket, there is no unread data.
            Action::Read(_) => continue,
            Action::Close { code, reason } => Err(ConnectionLost {
                code: Some(code),
                reason,
            }),
        };
        // A client that dropped its receiver has closed the connection.
        let _ = frames.send(incoming);
    }
}

struct Sender {
    model: ScriptedModel,
    connection: ConnectionId,
    frames: mpsc::UnboundedSender<Incoming>,
}

struct Receiver(mpsc::UnboundedReceiver<Incoming>);

#[async_trait]
impl FrameSender for Sender {
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost> {
        let actions = self
            .model
            .lock()
            .player
            .receive_text(self.connection, &frame);
        hand_over(actions, &self.frames);
        self.model.keep_time(self.connection, &self.frames);
        Ok(())
    }

    async fn close(&mut self) {
        let closed = "closed by the client";
        self.model
            .lock()
            .player
            .disconnect(self.connection, 1000, closed);
    }
}

#[async_trait]
impl FrameReceiver for Receiver {
    async fn receive(&mut self) -> Result<String, ConnectionLost> {
        self.0.recv().await.unwrap_or_else(|| {
            let reason = "the model is gone".to_owned();
            Err(ConnectionLost { code: None, reason })
        })
    }
}
