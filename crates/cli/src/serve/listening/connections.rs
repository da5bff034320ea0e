//! The connections of the service: accepted up to a limit, served over HTTP/1.1, ended in order.
//!
//! Each request is marked with the other end of its connection. Headers of the trusted proxy count
//! with the mark of its socket alone.

use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::proxy_socket::ProxySocket;
use super::tls::Certificate;
use recount_gateway::ClientAddress;
use recount_server::Peer;

/// The maximum time for the handshake of TLS.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// The maximum time for which a client takes nothing of what is sent to it. Otherwise a client that
/// never reads would hold its connection, its stream and their memory for good.
const UNREAD_MAX: Duration = Duration::from_secs(60);

/// The first byte of a handshake of TLS: the type of its record.
const HANDSHAKE: u8 = 0x16;

/// The maximum size of the head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// The pause after a failed accept, such as one without a free file descriptor.
const RETRY_ACCEPT: Duration = Duration::from_millis(200);

/// A listener.
pub(in crate::serve) enum Door {
    /// An address.
    Tcp(TcpListener, Encryption),
    /// The socket of the trusted proxy.
    Proxy(ProxySocket),
}

/// The encryption of the connections to an address.
#[derive(Clone)]
pub(in crate::serve) enum Encryption {
    /// None is encrypted.
    None,
    /// All are, with this certificate.
    Always(Arc<Certificate>),
    /// Those are whose client begins with a handshake of TLS.
    Offered(Arc<Certificate>),
}

impl Encryption {
    /// With a certificate, all connections are encrypted.
    pub(in crate::serve) fn with(certificate: Option<Arc<Certificate>>) -> Encryption {
        certificate.map_or(Encryption::None, Encryption::Always)
    }
}

/// The limits of connections.
#[derive(Clone, Copy, Debug)]
pub(in crate::serve) struct ConnectionLimits {
    /// The maximum number of open connections of each listener.
    pub(in crate::serve) connections: u32,
    /// The maximum time for the head of a request, and for an idle connection.
    pub(in crate::serve) head_time: Duration,
}

/// The open connections of the listeners.
pub(in crate::serve) struct Connections {
    /// Cancelled when no request is accepted any more.
    closing: CancellationToken,
    /// Cancelled when the remaining connections end at once.
    cut: CancellationToken,
    open: TaskTracker,
    accepting: Vec<JoinHandle<()>>,
}

/// The parts that every connection needs.
#[derive(Clone)]
struct Each {
    router: Router,
    head_time: Duration,
    closing: CancellationToken,
    cut: CancellationToken,
}

impl Connections {
    /// Accepts connections from now on, up to the limit. Further ones wait in the queue of the
    /// system.
    pub(in crate::serve) fn accept(
        doors: Vec<Door>,
        router: Router,
        limits: ConnectionLimits,
    ) -> Connections {
        let each = Each {
            router,
            head_time: limits.head_time,
            closing: CancellationToken::new(),
            cut: CancellationToken::new(),
        };
        let (closing, cut) = (each.closing.clone(), each.cut.clone());
        let open = TaskTracker::new();
        let permits = usize::try_from(limits.connections).unwrap_or(Semaphore::MAX_PERMITS);
        let permits = permits.min(Semaphore::MAX_PERMITS);
        let accept = |door| {
            // Permits of its own, so that no listener takes the last one from another.
            let permits = Arc::new(Semaphore::new(permits));
            tokio::spawn(accept_all(door, each.clone(), permits, open.clone()))
        };
        Connections {
            accepting: doors.into_iter().map(accept).collect(),
            closing,
            cut,
            open,
        }
    }

    /// Closes the listeners and the idle connections. The others end with their current request.
    pub(in crate::serve) fn close(&self) {
        self.closing.cancel();
        self.open.close();
    }

    /// Waits for the end of every connection, up to `grace`. Returns true if all have ended.
    pub(in crate::serve) async fn ended(&self, grace: Duration) -> bool {
        tokio::time::timeout(grace, self.open.wait()).await.is_ok()
    }

    /// Ends the remaining connections at once.
    pub(in crate::serve) async fn cut(self) {
        self.cut.cancel();
        self.open.wait().await;
        for accepting in self.accepting {
            // It ends with `closing`.
            let _ = accepting.await;
        }
    }
}

/// An accepted connection.
enum Stream {
    Tcp(TcpStream, IpAddr, Encryption),
    #[cfg(unix)]
    Proxy(tokio::net::UnixStream),
}

impl Door {
    async fn accept(&self) -> io::Result<Stream> {
        match self {
            Door::Tcp(listener, encryption) => {
                let (stream, address) = listener.accept().await?;
                Ok(Stream::Tcp(stream, address.ip(), encryption.clone()))
            }
            #[cfg(unix)]
            Door::Proxy(socket) => socket.accept().await.map(Stream::Proxy),
            #[cfg(not(unix))]
            Door::Proxy(socket) => match *socket {},
        }
    }
}

async fn accept_all(door: Door, each: Each, permits: Arc<Semaphore>, open: TaskTracker) {
    let closing = each.closing.clone();
    loop {
        let next = async {
            let permit = permits.clone().acquire_owned().await;
            (permit, door.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            biased;
            () = closing.cancelled() => return,
            next = next => next,
        };
        // The semaphore is never closed.
        let Ok(permit) = permit else { return };
        match accepted {
            Ok(stream) => drop(open.spawn(serve(stream, each.clone(), permit))),
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "no connection could be accepted");
                tokio::time::sleep(RETRY_ACCEPT).await;
            }
        }
    }
}

/// True if only this connection failed, before it was accepted.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
    )
}

/// Serves a connection to its end.
async fn serve(stream: Stream, each: Each, _permit: OwnedSemaphorePermit) {
    let cut = each.cut.clone();
    let served = async {
        match stream {
            Stream::Tcp(stream, peer, encryption) => tcp(stream, peer, encryption, &each).await,
            #[cfg(unix)]
            Stream::Proxy(stream) => http(prompt(stream), Peer::TrustedProxy, &each).await,
        }
    };
    tokio::select! {
        biased;
        () = cut.cancelled() => {}
        () = served => {}
    }
}

async fn tcp(stream: TcpStream, address: IpAddr, encryption: Encryption, each: &Each) {
    // A response is sent at once, not when the next packet is full.
    let _ = stream.set_nodelay(true);
    let peer = Peer::Address(address);
    let certificate = match encryption {
        Encryption::None => None,
        Encryption::Always(certificate) => Some(certificate),
        Encryption::Offered(certificate) => match begins_handshake(&stream, each.head_time).await {
            Some(true) => Some(certificate),
            Some(false) => None,
            None => return,
        },
    };
    // Below TLS, whose buffer takes what the client does not.
    let stream = prompt(stream);
    let Some(certificate) = certificate else {
        return http(stream, peer, each).await;
    };
    let handshake = TlsAcceptor::from(certificate.current()).accept(stream);
    match tokio::time::timeout(HANDSHAKE_MAX, handshake).await {
        Ok(Ok(stream)) => http(stream, peer, each).await,
        Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

/// True if the client begins with a handshake of TLS. `None` if it sends nothing within the time.
async fn begins_handshake(stream: &TcpStream, time: Duration) -> Option<bool> {
    let mut first = [0];
    let peeked = tokio::time::timeout(time, stream.peek(&mut first)).await;
    match peeked {
        Ok(Ok(1..)) => Some(first == [HANDSHAKE]),
        Ok(Ok(0) | Err(_)) | Err(_) => None,
    }
}

/// The connection, which fails once its client has taken nothing for [`UNREAD_MAX`].
fn prompt<S: AsyncRead + AsyncWrite>(stream: S) -> Pin<Box<TimeoutStream<S>>> {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(UNREAD_MAX));
    Box::pin(stream)
}

/// Serves HTTP. A connection that is upgraded, such as to a WebSocket, is handed over with its
/// [`UNREAD_MAX`], and does not count here any more.
async fn http(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Peer,
    each: &Each,
) {
    let router = TowerToHyperService::new(each.router.clone());
    let service = service_fn(move |mut request: Request<Incoming>| {
        let extensions = request.extensions_mut();
        extensions.insert(peer);
        if let Peer::Address(address) = peer {
            extensions.insert(ClientAddress(address));
        }
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(each.head_time)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        biased;
        () = each.closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        ended = connection.as_mut() => ended,
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn client_that_never_reads_is_cut_off() {
        let (served, mut client) = duplex(64);
        let mut served = prompt(served);
        served.write_all(&[b'x'; 64]).await.unwrap();
        let mut taken = [0; 32];
        client.read_exact(&mut taken).await.unwrap();
        served.write_all(&[b'x'; 32]).await.unwrap();
        let failed = served.write_all(b"x").await.unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
    }
}
