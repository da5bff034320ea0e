//! A proxy between a node and the server, which loses requests and replies on command.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};

/// The bytes of a simple query before its text.
const MESSAGE_HEAD: usize = 5;

/// The fault of a connection that sends a text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    /// The connection is cut before the server has the request.
    Lost,
    /// The server has the request, and all its replies are lost from then on.
    Unanswered,
    /// The server has all before the message with the text, and nothing from then on. The
    /// connection stays, as that of a program whose network is gone.
    Halted,
}

/// A proxy on the loopback interface.
pub(crate) struct Proxy {
    port: u16,
    state: Arc<State>,
}

struct State {
    server: String,
    fault: Mutex<Option<(String, Fault)>>,
    met: Notify,
    cuts: watch::Sender<u64>,
    refuses: AtomicBool,
}

impl Proxy {
    /// Starts a proxy before a server at `host:port`.
    pub(crate) async fn start(server: &str) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            server: server.to_owned(),
            fault: Mutex::default(),
            met: Notify::new(),
            cuts: watch::Sender::new(0),
            refuses: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if !accepting.refuses.load(Ordering::SeqCst) {
                    tokio::spawn(relay(client, Arc::clone(&accepting)));
                }
            }
        });
        Proxy { port, state }
    }

    /// The port of the proxy.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Sets the fault of the connection that sends a text next. It happens once.
    pub(crate) fn fail_at(&self, text: &str, fault: Fault) {
        *self.state.fault.lock().unwrap() = Some((text.to_owned(), fault));
    }

    /// Waits for the fault.
    pub(crate) async fn failed(&self) {
        self.state.met.notified().await;
    }

    /// Cuts all connections.
    pub(crate) fn cut(&self) {
        self.state.cuts.send_modify(|it| *it += 1);
    }

    /// Closes each new connection at once.
    pub(crate) fn refuse(&self) {
        self.state.refuses.store(true, Ordering::SeqCst);
    }

    /// Relays new connections again.
    pub(crate) fn admit(&self) {
        self.state.refuses.store(false, Ordering::SeqCst);
    }
}

impl State {
    /// The fault for a connection that has sent these bytes, with the number of them from the
    /// message with the text on.
    fn fault_of(&self, sent: &[u8]) -> Option<(usize, Fault)> {
        let mut fault = self.fault.lock().unwrap();
        let (text, _) = fault.as_ref()?;
        let mut places = sent.windows(text.len());
        let place = places.position(|it| it == text.as_bytes())?;
        let behind = sent.len() - place + MESSAGE_HEAD;
        fault.take().map(|(_, fault)| (behind, fault))
    }
}

/// Relays a connection until an end or the proxy closes it.
async fn relay(mut client: TcpStream, state: Arc<State>) {
    let mut cuts = state.cuts.subscribe();
    let Ok(mut server) = TcpStream::connect(&state.server).await else {
        return;
    };
    let (mut request, mut reply) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    // A text may be divided by two reads.
    let (mut sent, mut is_muted, mut is_halted) = (Vec::new(), false, false);
    loop {
        tokio::select! {
            read = client.read(&mut request) => {
                let Ok(length @ 1..) = read else { return };
                sent.extend_from_slice(&request[..length]);
                let fault = state.fault_of(&sent);
                let mut passed = length;
                match fault {
                    Some((_, Fault::Lost)) => {
                        state.met.notify_one();
                        return;
                    }
                    Some((_, Fault::Unanswered)) => is_muted = true,
                    Some((behind, Fault::Halted)) => {
                        (is_halted, passed) = (true, length.saturating_sub(behind));
                    }
                    None if is_halted => passed = 0,
                    None => {}
                }
                sent.drain(..sent.len().saturating_sub(100));
                if server.write_all(&request[..passed]).await.is_err() {
                    return;
                }
                if fault.is_some() {
                    state.met.notify_one();
                }
            }
            read = server.read(&mut reply) => {
                let Ok(length @ 1..) = read else { return };
                if !is_muted && client.write_all(&reply[..length]).await.is_err() {
                    return;
                }
            }
            _ = cuts.changed() => return,
        }
    }
}
