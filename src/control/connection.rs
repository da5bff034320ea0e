//! One operator: let in by the token, then one request after another.

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

use super::message::{Problem, REQUEST_BYTES_MAX, Reply, Request};
use super::server::{Handler, Items};
use super::token::{Proof, Token};

/// Messages are few, and most are small.
const BUFFER_BYTES: usize = 8 * 1024;

/// How long somebody may take to show the token.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// How long an operator may ask for nothing. Whoever follows a log has asked for something.
const IDLE: Duration = Duration::from_secs(60);

/// The header in which a service proves that it is the one.
pub(super) const PROOF_HEADER: &str = "recount-proof";

/// How many items are made before the first of them is read.
const ITEMS_AHEAD: usize = 64;

type Socket = WebSocketStream<TcpStream>;

/// What every connection shares.
pub(super) struct Door {
    pub(super) token: Token,
    pub(super) proof: Proof,
    pub(super) handler: Handler,
    /// For those who have shown the token.
    pub(super) places: Arc<Semaphore>,
    /// The service ends.
    pub(super) ending: CancellationToken,
}

impl Door {
    /// The place of somebody who may come in.
    ///
    /// A browser says where a page comes from, and lets no page choose the header of the token; so
    /// no page gets in, whatever it has found out.
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
        let place = self.places.clone().try_acquire_owned();
        place.map_err(|_| (StatusCode::SERVICE_UNAVAILABLE, "all places are taken"))
    }
}

/// Serves one operator until either side ends it, or lets go of a newcomer that gives way to
/// others.
pub(super) async fn serve(stream: TcpStream, door: Arc<Door>, newcomer: Arc<CancellationToken>) {
    // Small messages in turn are what this protocol is made of.
    let _ = stream.set_nodelay(true);
    let handshake = tokio::time::timeout(HANDSHAKE, shake_hands(stream, &door));
    let socket = tokio::select! {
        biased;
        () = door.ending.cancelled() => return,
        () = newcomer.cancelled() => {
            tracing::debug!("somebody who had not shown the token gave way to others");
            return;
        }
        socket = handshake => socket,
    };
    drop(newcomer);
    match socket {
        Ok(Ok((socket, place))) => {
            converse(socket, &door).await;
            drop(place);
        }
        Ok(Err(error)) => tracing::warn!(%error, "somebody was not let in to control the service"),
        Err(_) => tracing::warn!("somebody took too long to show the token"),
    }
}

#[expect(
    clippy::result_large_err,
    reason = "the library wants this type of whoever looks at a handshake"
)]
async fn shake_hands(
    stream: TcpStream,
    door: &Door,
) -> Result<(Socket, Option<OwnedSemaphorePermit>), Error> {
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(0)
        .max_message_size(Some(REQUEST_BYTES_MAX))
        .max_frame_size(Some(REQUEST_BYTES_MAX));
    let mut place = None;
    let inspect = |handshake: &Handshake, mut response: Response| match door.admit(handshake) {
        Ok(taken) => {
            place = Some(taken);
            let key = handshake.headers().get(SEC_WEBSOCKET_KEY);
            let proof = key.map(|key| door.proof.shown_for(key.as_bytes()));
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
async fn converse(mut socket: Socket, door: &Door) {
    let mut idle_until = Instant::now() + IDLE;
    loop {
        let next = tokio::select! {
            biased;
            () = door.ending.cancelled() => {
                return farewell(&mut socket, CloseCode::Away, "the service ends").await;
            }
            next = socket.next() => next,
            () = tokio::time::sleep_until(idle_until) => {
                let told = format!("nothing was asked for {} s", IDLE.as_secs());
                return farewell(&mut socket, CloseCode::Policy, &told).await;
            }
        };
        let text = match next {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
            Some(Ok(Message::Binary(_) | Message::Close(_)) | Err(_)) | None => return,
        };
        let answered = match Request::read(&text) {
            Ok(request) => answer(&mut socket, request, door).await,
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

/// The conversation is over.
struct Over;

/// Sends what comes of a request, until it is done or whoever asked goes away.
async fn answer(socket: &mut Socket, request: Request, door: &Door) -> Result<(), Over> {
    let (items, mut made) = mpsc::channel(ITEMS_AHEAD);
    let goes_on = matches!(request, Request::Log { follow: true, .. });
    let mut work = (door.handler)(request, Items(items));
    loop {
        tokio::select! {
            biased;
            // What is being put on record is waited for; what goes on for ever is not.
            () = door.ending.cancelled(), if goes_on => {
                farewell(socket, CloseCode::Away, "the service ends").await;
                return Err(Over);
            }
            Some(item) = made.recv() => {
                feed(socket, &Reply::Item(item)).await?;
                if made.is_empty() {
                    socket.flush().await.map_err(|_| Over)?;
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
                // Whoever asks before the answer is here does not speak this protocol.
                Some(Ok(Message::Text(_) | Message::Binary(_) | Message::Close(_)) | Err(_)) | None => {
                    return Err(Over);
                }
            }
        }
    }
}

async fn say(socket: &mut Socket, reply: &Reply) -> Result<(), Over> {
    feed(socket, reply).await?;
    socket.flush().await.map_err(|_| Over)
}

async fn feed(socket: &mut Socket, reply: &Reply) -> Result<(), Over> {
    let text = serde_json::to_string(reply).map_err(|_| Over)?;
    socket.feed(Message::text(text)).await.map_err(|_| Over)
}

/// Tells the operator why this is the end.
async fn farewell(socket: &mut Socket, code: CloseCode, why: &str) {
    let frame = CloseFrame {
        code,
        reason: why.into(),
    };
    // Whoever is gone needs no word.
    let _ = socket.close(Some(frame)).await;
}
