//! The player behind a local WebSocket.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;
use tokio::net::{TcpListener, lookup_host};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use recount_wire::ServerMessage;

use super::expectation::Unmet;
use super::player::Player;
use super::recording::Frame;
use super::script::Script;
use super::serve::serve;
use super::step::Step;
use super::transcript::{Entry, Transcript};

/// A fake Gemini Live service before it listens.
///
/// ```
/// use recount_simulator::{Script, Simulator};
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
    recorder: Option<Recorder>,
}

/// A fake service that listens. It stops when this is dropped.
///
/// All its connections belong to one conversation. It accepts any path, so the addresses of both
/// platforms, all API versions and gateways work. It neither requires nor keeps a key.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// The reason why the fake service cannot listen.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimulatorError {
    /// Other machines could reach the address, and the service requires no key.
    #[error("expected an address of this machine only, such as 127.0.0.1:0, found {address}")]
    NotLoopback {
        /// The address.
        address: String,
    },
    /// The address is in use or invalid.
    #[error("{address} cannot be listened on")]
    Unavailable {
        /// The address.
        address: String,
        /// The I/O error.
        #[source]
        source: std::io::Error,
    },
}

/// The state that the sockets share.
#[derive(Debug)]
pub(super) struct Shared {
    player: Mutex<Player>,
    recorder: Option<Recorder>,
    changed: watch::Sender<()>,
    /// Notified when steps are due that neither a message nor a timer caused.
    ordered: watch::Sender<()>,
    sockets: AtomicUsize,
    pub(super) sends_text: bool,
}

/// The receiver of all frames.
struct Recorder(Mutex<Box<dyn FnMut(Frame) + Send>>);

/// A guard for an open socket.
pub(super) struct OpenSocket<'a>(&'a Shared);

impl Simulator {
    /// Creates a service at the beginning of `script`.
    pub fn start(script: Script) -> Self {
        Self {
            player: Player::new(script),
            recorder: None,
        }
    }

    /// Disables the transcript, so that a long-running service does not grow. Expectations then
    /// stay unmet.
    #[must_use]
    pub fn without_transcript(mut self) -> Self {
        self.player.forget();
        self
    }

    /// Passes each frame of all sockets to `recorder`, in order.
    ///
    /// ```
    /// use recount_simulator::{Script, Simulator};
    /// let simulator =
    ///     Simulator::start(Script::default()).record(|frame| println!("{}", frame.line()));
    /// ```
    #[must_use]
    pub fn record(mut self, recorder: impl FnMut(Frame) + Send + 'static) -> Self {
        self.recorder = Some(Recorder(Mutex::new(Box::new(recorder))));
        self
    }

    /// Listens on `address`, such as `127.0.0.1:0` for any free port.
    ///
    /// # Errors
    /// An error if other machines could reach `address`, or if the system refuses to listen there.
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
            sends_text: self.player.sends_text(),
            player: Mutex::new(self.player),
            recorder: self.recorder,
            changed: watch::Sender::new(()),
            ordered: watch::Sender::new(()),
            sockets: AtomicUsize::new(0),
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
    /// The URL to connect to.
    pub fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// The messages received and sent so far.
    pub fn transcript(&self) -> Transcript {
        self.shared.player().transcript().clone()
    }

    /// Waits until `wanted` returns true for the transcript, and returns the transcript.
    pub async fn until(&self, wanted: impl Fn(&Transcript) -> bool) -> Transcript {
        self.until_so(|player| wanted(player.transcript())).await;
        self.transcript()
    }

    /// Waits for entries after the first `seen` ones of the transcript, and returns them.
    pub async fn entries_after(&self, seen: usize) -> Vec<Entry> {
        self.until_so(|player| player.transcript().entries().len() > seen)
            .await;
        let player = self.shared.player();
        let entries = player.transcript().entries();
        entries.get(seen..).unwrap_or_default().to_vec()
    }

    /// The number of open sockets. A socket that only the service has closed counts.
    pub fn sockets_open(&self) -> usize {
        self.shared.sockets.load(Ordering::SeqCst)
    }

    /// Waits until no socket is open.
    pub async fn until_all_closed(&self) {
        self.until_so(|_| self.sockets_open() == 0).await;
    }

    /// Returns the expectations of the script that are not met so far.
    pub fn unmet(&self) -> Vec<Unmet> {
        self.shared.player().unmet()
    }

    /// Sends a message on the newest connection. Returns false if there is no connection.
    ///
    /// ```
    /// # async fn example(simulator: recount_simulator::Running) {
    /// use recount_wire::ServerMessage;
    /// simulator.send(ServerMessage::go_away("10s"));
    /// # }
    /// ```
    pub fn send(&self, message: ServerMessage) -> bool {
        self.order(Step::Send(Box::new(message)))
    }

    /// Closes the newest connection, with code 1006 without a close frame. Returns false if there
    /// is no connection.
    pub fn close(&self, code: u16, reason: &str) -> bool {
        self.order(Step::Close {
            code,
            reason: reason.to_owned(),
        })
    }

    /// Resumes reading from the client of the newest connection, after a step `{"read": false}`.
    pub fn read_on(&self) -> bool {
        self.order(Step::Read(true))
    }

    fn order(&self, step: Step) -> bool {
        let has_connection = self.shared.play(|player| {
            let newest = player.newest();
            if let Some(connection) = newest {
                player.enqueue(connection, step);
            }
            newest.is_some()
        });
        self.shared.ordered.send_replace(());
        has_connection
    }

    async fn until_so(&self, wanted: impl Fn(&Player) -> bool) {
        let mut changes = self.shared.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        while !self.shared.player_says(&wanted) && changes.changed().await.is_ok() {}
    }

    /// Stops listening and drops all connections, as a crash of the service would.
    pub async fn shutdown(mut self) {
        self.accepting.abort();
        // The error only says that the task was aborted.
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

    /// Runs the player and notifies all waiters.
    pub(super) fn play<T>(&self, turn: impl FnOnce(&mut Player) -> T) -> T {
        let played = turn(&mut self.player());
        self.changed.send_replace(());
        played
    }

    pub(super) fn player_says<T>(&self, question: impl FnOnce(&Player) -> T) -> T {
        question(&self.player())
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Passes a frame to the recorder, if there is one.
    pub(super) fn record(&self, frame: impl FnOnce() -> Frame) {
        if let Some(Recorder(recorder)) = &self.recorder {
            let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
            recorder(frame());
        }
    }

    pub(super) fn orders(&self) -> watch::Receiver<()> {
        self.ordered.subscribe()
    }

    pub(super) fn open_socket(&self) -> OpenSocket<'_> {
        self.sockets.fetch_add(1, Ordering::SeqCst);
        OpenSocket(self)
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl Drop for OpenSocket<'_> {
    fn drop(&mut self) {
        self.0.sockets.fetch_sub(1, Ordering::SeqCst);
        self.0.changed.send_replace(());
    }
}

/// Serves each client that connects. Dropping this future ends its connections.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => {
                // A client that left before it was accepted must not stop the service.
                if let Ok((stream, _)) = accepted {
                    connections.spawn(serve(stream, Arc::clone(&shared)));
                }
            }
        }
    }
}
