//! The connection of one operator: the handshake with the token, then one request after another.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::{
    ErrorResponse, Request as Handshake, Response,
};
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, ORIGIN, SEC_WEBSOCKET_KEY};
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_util::sync::CancellationToken;

use super::message::{REQUEST_BYTES_MAX, Request};
use super::reply::{Problem, Reply};
use super::server::{Handler, Items};
use super::token::{Proof, Token};

/// The size of the read buffer, in bytes. Messages are few, and most are small.
const BUFFER_BYTES: usize = 8 * 1024;

/// The time limit for showing the token.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// The time after which an operator without a request is disconnected. A followed log is a request.
const IDLE: Duration = Duration::from_secs(60);

/// The header in which a service proves its identity.
pub(super) const PROOF_HEADER: &str = "recount-proof";

/// The maximum number of items buffered for a client that has not read them.
const ITEMS_AHEAD: usize = 64;

type Socket = WebSocketStream<TcpStream>;

/// The state that all connections share.
pub(super) struct ConnectionContext {
    pub(super) token: Token,
    pub(super) proof: Proof,
    pub(super) handler: Handler,
    /// The permits for connections that have shown the token.
    pub(super) permits: Arc<Semaphore>,
    /// Cancelled when the service ends.
    pub(super) ending: CancellationToken,
}

impl ConnectionContext {
    /// Checks a handshake and returns a permit for the connection.
    ///
    /// Browsers send `Origin` and do not let a page set the `Authorization` header. So no web page
    /// can connect, even if it knows the token.
    fn admit(
        &self,
        handshake: &Handshake,
    ) -> Result<OwnedSemaphorePermit, (StatusCode, &'static str)> {
        let headers = handshake.headers();
        if headers.contains_key(ORIGIN) {
            return Err((StatusCode::FORBIDDEN, "no web page may control a service"));
        }
        let mut shown = headers.get_all(AUTHORIZATION).into_iter();
        let shows_token = |it: &[u8]| self.token.is_shown_by(it);
        match (shown.next(), shown.next()) {
            (Some(shown), None) if shows_token(shown.as_bytes()) => {}
            (_, _) => return Err((StatusCode::UNAUTHORIZED, "the token is missing or wrong")),
        }
        let place = self.permits.clone().try_acquire_owned();
        place.map_err(|_| (StatusCode::SERVICE_UNAVAILABLE, "all places are taken"))
    }
}

/// Serves one operator until either side ends the connection. A connection without a token may be
/// closed to make room for others.
pub(super) async fn serve(
    stream: TcpStream,
    context: Arc<ConnectionContext>,
    unauthenticated: Arc<CancellationToken>,
) {
    // The protocol exchanges small messages in turn.
    let _ = stream.set_nodelay(true);
    let handshake = tokio::time::timeout(HANDSHAKE, shake_hands(stream, &context));
    let socket = tokio::select! {
        biased;
        () = context.ending.cancelled() => return,
        () = unauthenticated.cancelled() => {
            tracing::debug!("a client without the token was dropped for others");
            return;
        }
        socket = handshake => socket,
    };
    drop(unauthenticated);
    match socket {
        Ok(Ok((socket, place))) => {
            converse(socket, &context).await;
            drop(place);
        }
        Ok(Err(error)) => tracing::warn!(%error, "a client was not allowed to control the service"),
        Err(_) => tracing::warn!("a client did not show the token in time"),
    }
}

#[expect(
    clippy::result_large_err,
    reason = "the library wants this type of a handshake callback"
)]
async fn shake_hands(
    stream: TcpStream,
    context: &ConnectionContext,
) -> Result<(Socket, Option<OwnedSemaphorePermit>), Error> {
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(0)
        .max_message_size(Some(REQUEST_BYTES_MAX))
        .max_frame_size(Some(REQUEST_BYTES_MAX));
    let mut place = None;
    let inspect = |handshake: &Handshake, mut response: Response| match context.admit(handshake) {
        Ok(taken) => {
            place = Some(taken);
            let key = handshake.headers().get(SEC_WEBSOCKET_KEY);
            let proof = key.map(|key| context.proof.shown_for(key.as_bytes()));
            if let Some(Ok(proof)) = proof.map(HeaderValue::try_from) {
                response.headers_mut().insert(PROOF_HEADER, proof);
            }
            Ok(response)
        }
        Err((status, why)) => {
            let mut answer = ErrorResponse::new(Some(why.to_owned()));
            *answer.status_mut() = status;
            Err(answer)
        }
    };
    let shaken = tokio_tungstenite::accept_hdr_async_with_config(stream, inspect, Some(config));
    let socket = shaken.await?;
    Ok((socket, place))
}

/// Answers one request after another.
async fn converse(mut socket: Socket, context: &ConnectionContext) {
    let mut idle_until = Instant::now() + IDLE;
    loop {
        let next = tokio::select! {
            biased;
            () = context.ending.cancelled() => {
                return close(&mut socket, CloseCode::Away, "the service ends").await;
            }
            next = socket.next() => next,
            () = tokio::time::sleep_until(idle_until) => {
                let told = format!("nothing was asked for {} s", IDLE.as_secs());
                return close(&mut socket, CloseCode::Policy, &told).await;
            }
        };
        let text = match next {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
            Some(Ok(Message::Binary(_) | Message::Close(_)) | Err(_)) | None => return,
        };
        let answered = match Request::read(&text) {
            Ok(request) => answer(&mut socket, request, context).await,
            Err(error) => {
                let problem = Problem::new("bad_request", error.to_string());
                say(&mut socket, &Reply::Error(problem)).await
            }
        };
        if answered.is_err() {
            return;
        }
        idle_until = Instant::now() + IDLE;
    }
}

/// Returned when the connection has ended.
struct ConnectionEnded;

/// Sends the answer to a request, until it is complete or the client disconnects.
async fn answer(
    socket: &mut Socket,
    request: Request,
    context: &ConnectionContext,
) -> Result<(), ConnectionEnded> {
    let (items, mut made) = mpsc::channel(ITEMS_AHEAD);
    let is_followed = matches!(request, Request::Log { follow: true, .. });
    let mut work = (context.handler)(request, Items(items));
    loop {
        tokio::select! {
            biased;
            // The end of the service waits for requests that are being recorded, but not for a
            // followed log.
            () = context.ending.cancelled(), if is_followed => {
                close(socket, CloseCode::Away, "the service ends").await;
                return Err(ConnectionEnded);
            }
            Some(item) = made.recv() => {
                feed(socket, &Reply::Item(item)).await?;
                if made.is_empty() {
                    socket.flush().await.map_err(|_| ConnectionEnded)?;
                }
            }
            last = &mut work => {
                while let Ok(item) = made.try_recv() {
                    feed(socket, &Reply::Item(item)).await?;
                }
                return say(socket, &last).await;
            }
            next = socket.next() => match next {
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                // The protocol allows no message before the answer is complete.
                Some(Ok(Message::Text(_) | Message::Binary(_) | Message::Close(_)) | Err(_))
                | None => {
                    return Err(ConnectionEnded);
                }
            }
        }
    }
}

async fn say(socket: &mut Socket, reply: &Reply) -> Result<(), ConnectionEnded> {
    feed(socket, reply).await?;
    socket.flush().await.map_err(|_| ConnectionEnded)
}

async fn feed(socket: &mut Socket, reply: &Reply) -> Result<(), ConnectionEnded> {
    let text = serde_json::to_string(reply).map_err(|_| ConnectionEnded)?;
    socket
        .feed(Message::text(text))
        .await
        .map_err(|_| ConnectionEnded)
}

/// Closes the connection with a reason.
async fn close(socket: &mut Socket, code: CloseCode, why: &str) {
    let frame = CloseFrame {
        code,
        reason: why.into(),
    };
    // The peer may be gone already.
    let _ = socket.close(Some(frame)).await;
}
