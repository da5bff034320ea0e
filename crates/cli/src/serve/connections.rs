//! The connections of the service: accepted up to a limit, served over HTTP/1.1, ended in order.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::tls::Certificate;

/// The maximum time for the head of a request, and for an idle connection. A client that sends one
/// byte after another holds a connection no longer.
const HEAD_MAX: Duration = Duration::from_secs(20);

/// The maximum time for the handshake of TLS.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// The maximum size of the head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// The pause after a failed accept, such as one without a free file descriptor.
const RETRY_ACCEPT: Duration = Duration::from_millis(200);

/// The open connections of a listener.
pub(super) struct Connections {
    /// Cancelled when no request is accepted any more.
    closing: CancellationToken,
    /// Cancelled when the remaining connections end at once.
    cut: CancellationToken,
    open: TaskTracker,
    accepting: JoinHandle<()>,
}

/// The parts that every connection needs.
#[derive(Clone)]
struct Each {
    router: Router,
    certificate: Option<Arc<Certificate>>,
    closing: CancellationToken,
    cut: CancellationToken,
}

impl Connections {
    /// Accepts connections from now on, `limit` at most. Further ones wait in the queue of the
    /// system.
    pub(super) fn accept(
        listener: TcpListener,
        router: Router,
        certificate: Option<Arc<Certificate>>,
        limit: u32,
    ) -> Connections {
        let each = Each {
            router,
            certificate,
            closing: CancellationToken::new(),
            cut: CancellationToken::new(),
        };
        let (closing, cut) = (each.closing.clone(), each.cut.clone());
        let open = TaskTracker::new();
        let permits = usize::try_from(limit).unwrap_or(Semaphore::MAX_PERMITS);
        let permits = Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS)));
        let accepting = tokio::spawn(accept_all(listener, each, permits, open.clone()));
        Connections {
            closing,
            cut,
            open,
            accepting,
        }
    }

    /// Closes the listener and the idle connections. The others end with their current request.
    pub(super) fn close(&self) {
        self.closing.cancel();
        self.open.close();
    }

    /// Waits for the end of every connection, up to `grace`. Returns true if all have ended.
    pub(super) async fn ended(&self, grace: Duration) -> bool {
        tokio::time::timeout(grace, self.open.wait()).await.is_ok()
    }

    /// Ends the remaining connections at once.
    pub(super) async fn cut(self) {
        self.cut.cancel();
        self.open.wait().await;
        // It ends with `closing`.
        let _ = self.accepting.await;
    }
}

async fn accept_all(listener: TcpListener, each: Each, permits: Arc<Semaphore>, open: TaskTracker) {
    let closing = each.closing.clone();
    loop {
        let next = async {
            let permit = permits.clone().acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            biased;
            () = closing.cancelled() => return,
            next = next => next,
        };
        // The semaphore is never closed.
        let Ok(permit) = permit else { return };
        match accepted {
            Ok((stream, _)) => drop(open.spawn(serve(stream, each.clone(), permit))),
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
async fn serve(stream: TcpStream, each: Each, _permit: OwnedSemaphorePermit) {
    // A response is sent at once, not when the next packet is full.
    let _ = stream.set_nodelay(true);
    let cut = each.cut.clone();
    let served = async {
        let Some(certificate) = &each.certificate else {
            return http(stream, &each).await;
        };
        let handshake = TlsAcceptor::from(certificate.current()).accept(stream);
        match tokio::time::timeout(HANDSHAKE_MAX, handshake).await {
            Ok(Ok(stream)) => http(stream, &each).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        }
    };
    tokio::select! {
        biased;
        () = cut.cancelled() => {}
        () = served => {}
    }
}

async fn http(stream: impl AsyncRead + AsyncWrite + Unpin + Send, each: &Each) {
    let service = TowerToHyperService::new(each.router.clone());
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
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
