//! Listening for operators, from the opening of an engine to its shutdown.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as Listener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::address::{Address, Offer, withdraw};
use super::connection::{Door, serve};
use super::message::{Reply, Request};
use super::newcomers::Newcomers;

/// How many operators are served at the same time; whoever shows the token beyond that is told so.
const OPERATORS_MAX: usize = 64;

/// How long what is being answered may take once the service ends.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long to wait before another try where the system has no room for one more connection.
const BREATH: Duration = Duration::from_millis(100);

/// What becomes of a request: its items go to [`Items`], the last message is what this comes to.
/// Dropped, it ends.
pub type Handler = Arc<dyn Fn(Request, Items) -> BoxFuture<'static, Reply> + Send + Sync>;

/// Takes the items of an answer to whoever asked, as fast as they are read.
#[derive(Clone, Debug)]
pub struct Items(pub(super) mpsc::Sender<Box<RawValue>>);

/// Whoever asked does not listen any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderGone;

impl Items {
    /// Sends one item.
    ///
    /// # Errors
    /// [`ReaderGone`] where nobody reads it; nor could anybody where it cannot be written as JSON.
    pub async fn send(&self, item: &impl Serialize) -> Result<(), ReaderGone> {
        let item = serde_json::value::to_raw_value(item).map_err(|_| ReaderGone)?;
        self.0.send(item).await.map_err(|_| ReaderGone)
    }
}

/// A service that listens for operators on this machine. It ends when it is dropped.
///
/// ```
/// use std::sync::Arc;
/// use recount::control::{Client, Reply, Request, Server};
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// # let directory = tempfile::tempdir()?;
/// # let journal = directory.path();
/// let handler = Arc::new(|_request, _items| -> futures_util::future::BoxFuture<'static, Reply> {
///     Box::pin(async { Reply::done(&"nothing waits") })
/// });
/// let server = Server::start(journal, handler)?;
/// let mut client = Client::connect(journal).await?;
/// let done = client.done(&Request::Pending {}).await?;
/// assert_eq!(done.get(), r#""nothing waits""#);
/// server.end().await;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Server {
    directory: PathBuf,
    offer: Offer,
    ending: CancellationToken,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Listens on any free port of the loopback interface and says so in `directory`.
    ///
    /// # Errors
    /// Where the system does not let it listen or write there.
    ///
    /// # Panics
    /// Outside of a tokio runtime with I/O.
    pub fn start(directory: &Path, handler: Handler) -> io::Result<Server> {
        // Before there is a new address, nothing says any more where an earlier service was.
        withdraw(directory)?;
        let listener = Listener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let offer = Offer::of_this_process(listener.local_addr()?);
        offer.write(directory)?;
        let ending = CancellationToken::new();
        let door = Arc::new(Door {
            token: offer.token.clone(),
            proof: offer.proof.clone(),
            handler,
            places: Arc::new(Semaphore::new(OPERATORS_MAX)),
            ending: ending.clone(),
        });
        let accepting = tokio::spawn(accept(listener, door));
        Ok(Server {
            directory: directory.to_owned(),
            offer,
            ending,
            accepting,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.offer.address
    }

    /// Takes no more requests, and waits for what is being answered, as far as that ends by itself.
    pub async fn end(mut self) {
        self.ending.cancel();
        self.offer.remove(&self.directory);
        // A task that panicked serves nobody any more, which is what is wanted.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ending.cancel();
        self.accepting.abort();
        self.offer.remove(&self.directory);
    }
}

/// Serves whoever comes until the end, and then those who are here, for a while.
async fn accept(listener: TcpListener, door: Arc<Door>) {
    let mut connections = JoinSet::new();
    let mut newcomers = Newcomers::default();
    loop {
        tokio::select! {
            biased;
            () = door.ending.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve(stream, door.clone(), newcomers.welcome()));
                }
                Err(error) => {
                    tracing::warn!(%error, "an operator could not be let in");
                    tokio::time::sleep(BREATH).await;
                }
            }
        }
    }
    drop(listener);
    let all_gone = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(FAREWELL, all_gone).await.is_err() {
        tracing::warn!("an operator's request was cut off by the end of the service");
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
