//! The player behind a WebSocket on this machine.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{SinkExt, StreamExt};
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::player::Player;
use super::script::{Action, Script};
use super::transcript::{ConnectionId, Transcript};

/// A fake Gemini Live service that is not listening yet.
///
/// ```
/// use recount::simulator::{Script, Simulator};
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let script = Script::parse(r#"{"on": "otherwise", "send": [{"say": "I beg your pardon?"}]}"#)?;
/// let simulator = Simulator::start(script).listen("127.0.0.1:0").await?;
/// assert!(simulator.url().starts_with("ws://127.0.0.1:"));
/// simulator.shutdown().await;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Simulator {
    player: Player,
}

/// A fake service that is listening; it stops when this is dropped.
///
/// All its connections belong to one conversation. It takes any path, so that the address of either platform, in any
/// API version, and a gateway's all lead to it; it neither asks for a key nor keeps one.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// Why the fake service cannot listen.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimulatorError {
    /// It would be reachable from other machines, and it asks nobody for a key.
    #[error("expected an address of this machine only, such as 127.0.0.1:0, found {address}")]
    NotLoopback {
        /// The address.
        address: String,
    },
    /// The address is taken, or is none.
    #[error("{address} cannot be listened on")]
    Unavailable {
        /// The address.
        address: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

#[derive(Debug)]
struct Shared {
    player: Mutex<Player>,
    changed: watch::Sender<()>,
}

impl Simulator {
    /// A service at the beginning of `script`.
    pub fn start(script: Script) -> Self {
        Self {
            player: Player::new(script),
        }
    }

    /// Listens on `address`, such as `127.0.0.1:0` for any free port.
    ///
    /// # Errors
    /// Where `address` is not of this machine alone, or cannot be listened on.
    pub async fn listen(self, address: &str) -> Result<Running, SimulatorError> {
        let unavailable = |source| SimulatorError::Unavailable {
            address: address.to_owned(),
            source,
        };
        let candidates: Vec<SocketAddr> =
            lookup_host(address).await.map_err(unavailable)?.collect();
        if candidates
            .iter()
            .any(|candidate| !candidate.ip().is_loopback())
        {
            return Err(SimulatorError::NotLoopback {
                address: address.to_owned(),
            });
        }
        let listener = TcpListener::bind(candidates.as_slice())
            .await
            .map_err(unavailable)?;
        let address = listener.local_addr().map_err(unavailable)?;
        let shared = Arc::new(Shared {
            player: Mutex::new(self.player),
            changed: watch::Sender::new(()),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Running {
            address,
            shared,
            accepting,
        })
    }
}

impl Running {
    /// Where to connect.
    pub fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// What was received and sent so far.
    pub fn transcript(&self) -> Transcript {
        self.shared.player().transcript().clone()
    }

    /// Waits until the transcript is as `wanted` says, and hands it out.
    pub async fn until(&self, wanted: impl Fn(&Transcript) -> bool) -> Transcript {
        let mut changes = self.shared.changed.subscribe();
        loop {
            let transcript = self.transcript();
            // The sender lives as long as `self`, so the other way out is never taken.
            if wanted(&transcript) || changes.changed().await.is_err() {
                return transcript;
            }
        }
    }

    /// Stops listening and drops every connection, as a service does that crashes.
    pub async fn shutdown(mut self) {
        self.accepting.abort();
        // Aborted is what it shall be.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    fn player(&self) -> MutexGuard<'_, Player> {
        self.player.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn play<T>(&self, turn: impl FnOnce(&mut Player) -> T) -> T {
        let played = turn(&mut self.player());
        self.changed.send_replace(());
        played
    }
}

/// Serves whoever connects; its connections end with it.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => {
                // A client that is gone before it was accepted is no reason to stop.
                if let Ok((stream, _)) = accepted {
                    connections.spawn(serve(stream, Arc::clone(&shared)));
                }
            }
        }
    }
}

/// Shakes hands with one client, whatever path and key it names, and plays to it.
async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    // Small frames in turn are what this protocol is made of.
    let _ = stream.set_nodelay(true);
    let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else {
        return;
    };
    let connection = shared.play(Player::connect);
    let (code, reason) = converse(&mut socket, connection, &shared).await;
    shared.play(|player| player.disconnect(connection, code, &reason));
}

/// Plays until either side ends the connection; says how the client ended it.
async fn converse(
    socket: &mut WebSocketStream<TcpStream>,
    connection: ConnectionId,
    shared: &Shared,
) -> (u16, String) {
    const ABNORMAL: u16 = 1006;
    while let Some(Ok(message)) = socket.next().await {
        let actions = match message {
            Message::Text(text) => {
                shared.play(|player| player.receive_text(connection, text.as_str()))
            }
            Message::Binary(bytes) => match std::str::from_utf8(&bytes) {
                Ok(text) => shared.play(|player| player.receive_text(connection, text)),
                Err(_) => shared.play(|player| {
                    player.receive_unreadable(connection, "expected text, found other bytes")
                }),
            },
            Message::Close(frame) => {
                // Reading on sends the answering close frame.
                while let Some(Ok(_)) = socket.next().await {}
                return frame.map_or((1005, String::new()), |frame| {
                    (frame.code.into(), frame.reason.as_str().to_owned())
                });
            }
            // The library answers pings by itself while it is being read.
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => Vec::new(),
        };
        for action in actions {
            let done = match action {
                Action::Send(message) => {
                    socket
                        .send(Message::binary(message.encode().into_bytes()))
                        .await
                }
                Action::Close { code: ABNORMAL, .. } => return (ABNORMAL, String::new()),
                Action::Close { code, reason } => {
                    let frame = CloseFrame {
                        code: code.into(),
                        reason: reason.into(),
                    };
                    let closed = socket.close(Some(frame)).await;
                    // A socket dropped with unread input resets, and the client may lose the reason.
                    while let Some(Ok(_)) = socket.next().await {}
                    closed
                }
            };
            if done.is_err() {
                return (ABNORMAL, String::new());
            }
        }
    }
    (ABNORMAL, String::new())
}
