//! The listener for operators, from the opening of an engine to its shutdown.

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
use super::connection::{ConnectionContext, serve};
use super::message::Request;
use super::reply::Reply;
use super::unauthenticated::Unauthenticated;

/// The maximum number of operators served at the same time. Further ones get the status 503.
const OPERATORS_MAX: usize = 64;

/// The time limit for running requests once the service ends.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// The delay before the next accept if the system has no room for another connection.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// The function that carries out a request. It sends items to [`Items`] and returns the last
/// message. Dropping the future cancels the request.
pub type Handler = Arc<dyn Fn(Request, Items) -> BoxFuture<'static, Reply> + Send + Sync>;

/// The sender for the items of an answer, with back-pressure from the client.
#[derive(Clone, Debug)]
pub struct Items(pub(super) mpsc::Sender<Box<RawValue>>);

/// The error for a client that no longer reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReaderGone;

impl Items {
    /// Sends one item.
    ///
    /// # Errors
    /// [`ReaderGone`] if the client no longer reads, or if the item cannot be serialized.
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
    /// Listens on a free port of the loopback interface and writes the control file to `directory`.
    ///
    /// # Errors
    /// An I/O error if the system refuses to listen or to write there.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with I/O.
    pub fn start(directory: &Path, handler: Handler) -> io::Result<Server> {
        // The old files go before the new address exists, so no client uses an earlier address.
        withdraw(directory)?;
        let listener = Listener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let offer = Offer::of_this_process(listener.local_addr()?);
        offer.write(directory)?;
        let ending = CancellationToken::new();
        let context = Arc::new(ConnectionContext {
            token: offer.token.clone(),
            proof: offer.proof.clone(),
            handler,
            permits: Arc::new(Semaphore::new(OPERATORS_MAX)),
            ending: ending.clone(),
        });
        let accepting = tokio::spawn(accept(listener, context));
        Ok(Server {
            directory: directory.to_owned(),
            offer,
            ending,
            accepting,
        })
    }

    /// The address on which the server listens.
    pub fn address(&self) -> &Address {
        &self.offer.address
    }

    /// Stops accepting requests and waits for the running ones. Followed logs are cut off.
    pub async fn end(mut self) {
        self.ending.cancel();
        self.offer.remove(&self.directory);
        // A panic of the accepting task also ends the service.
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

/// Serves connections until the service ends, then waits for the running ones up to
/// [`SHUTDOWN_GRACE`].
async fn accept(listener: TcpListener, context: Arc<ConnectionContext>) {
    let mut connections = JoinSet::new();
    let mut unauthenticated = Unauthenticated::default();
    loop {
        tokio::select! {
            biased;
            () = context.ending.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(serve(stream, context.clone(), unauthenticated.add()));
                }
                Err(error) => {
                    tracing::warn!(%error, "an operator could not be let in");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
    }
    drop(listener);
    let all_gone = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(SHUTDOWN_GRACE, all_gone)
        .await
        .is_err()
    {
        tracing::warn!("an operator's request was cut off by the end of the service");
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
