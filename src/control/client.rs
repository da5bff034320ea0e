//! The operator's side: a client that finds the service of a journal and sends requests to it.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::http::header::{AUTHORIZATION, SEC_WEBSOCKET_KEY};
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{self, Message};

use super::address::Offer;
use super::connection::PROOF_HEADER;
use super::error::{ConnectError, Unanswered};
use super::message::{REQUEST_BYTES_MAX, Request};
use super::reply::Reply;

/// The time limit for connecting to a service on the same machine.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// The time limit for the next message after a request.
const REPLY_PATIENCE: Duration = Duration::from_secs(60);

/// The maximum number of connection attempts if the service hangs up during the handshake.
const TRIES: u32 = 5;

/// The maximum size of a reply, in bytes: a record, its decrypted body and the JSON around them.
const REPLY_BYTES_MAX: usize = 16 << 20;

/// A connection to the service that has a journal open.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::path::Path;
/// use recount::control::{Client, Request, Waiting};
///
/// let mut service = Client::connect(Path::new("./journal")).await?;
/// for waiting in service.items::<Waiting>(&Request::Pending {}).await? {
///     println!("{waiting:?}");
/// }
/// # Ok(()) }
/// ```
pub struct Client {
    socket: WebSocketStream<TcpStream>,
    pid: u32,
    /// True if the last request follows a log, whose next record may take long.
    follows: bool,
}

impl Client {
    /// Connects to the service that has the journal in `directory` open.
    ///
    /// # Errors
    /// [`ConnectError`], the reason why the service cannot be reached.
    pub async fn connect(directory: &Path) -> Result<Client, ConnectError> {
        // In a directory that others can write to, the file may be forged. The superuser may use
        // another user's service.
        match recount_journal::guard(directory) {
            Ok(()) | Err(recount_journal::Error::NotYours { .. }) => {}
            Err(error) => return Err(super::file::unusable(directory, error.to_string())),
        }
        if let Err(error) = recount_journal::guard_path(directory) {
            return Err(super::file::unusable(directory, error.to_string()));
        }
        Client::take(Offer::read(directory)?).await
    }

    /// Connects to the service of this offer, and to no other.
    pub(super) async fn take(offer: Offer) -> Result<Client, ConnectError> {
        match tokio::time::timeout(CONNECT_PATIENCE, connect_with_retries(&offer)).await {
            Ok(socket) => Ok(Client {
                socket: socket?,
                pid: offer.address.pid,
                follows: false,
            }),
            Err(_) => Err(ConnectError::Silent {
                address: offer.address,
                waited: CONNECT_PATIENCE,
            }),
        }
    }

    /// The process id of the service.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a request. [`next`](Client::next) returns the answer.
    ///
    /// # Errors
    /// [`Unanswered::TooLarge`] and [`Unanswered::Lost`].
    pub async fn ask(&mut self, request: &Request) -> Result<(), Unanswered> {
        let text =
            serde_json::to_string(request).map_err(|error| Unanswered::Lost(error.to_string()))?;
        if text.len() > REQUEST_BYTES_MAX {
            return Err(Unanswered::TooLarge {
                bytes: text.len(),
                limit: REQUEST_BYTES_MAX,
            });
        }
        self.follows = matches!(request, Request::Log { follow: true, .. });
        in_time(async { self.socket.send(Message::text(text)).await.map_err(lost) }).await
    }

    /// Returns the next item of the answer, or its end.
    ///
    /// After 60 seconds without an answer the service counts as lost, even if it sends pings. A
    /// followed log has no such limit.
    ///
    /// # Errors
    /// See [`Unanswered`].
    pub async fn next(&mut self) -> Result<Answered, Unanswered> {
        if self.follows {
            self.come().await
        } else {
            in_time(self.come()).await
        }
    }

    async fn come(&mut self) -> Result<Answered, Unanswered> {
        loop {
            let text = match self.socket.next().await {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Ok(Message::Close(Some(last)))) if last.code == CloseCode::Away => {
                    return Err(Unanswered::Ended);
                }
                Some(Ok(Message::Close(Some(last)))) => {
                    return Err(Unanswered::Lost(last.reason.to_string()));
                }
                Some(Ok(Message::Close(None) | Message::Binary(_))) | None => {
                    return Err(Unanswered::Lost("it was closed".to_owned()));
                }
                Some(Err(error)) => return Err(lost(error)),
            };
            return match serde_json::from_str(&text) {
                Ok(Reply::Item(item)) => Ok(Answered::Item(item)),
                Ok(Reply::Done(done)) => Ok(Answered::Done(done)),
                Ok(Reply::Refused(refusal)) => Err(Unanswered::Refused(Box::new(refusal))),
                Ok(Reply::Error(problem)) => Err(Unanswered::Failed(problem)),
                Err(error) => Err(Unanswered::Lost(error.to_string())),
            };
        }
    }

    /// Sends a request and returns all items of the answer.
    ///
    /// # Errors
    /// See [`Unanswered`].
    pub async fn items<T: DeserializeOwned>(
        &mut self,
        request: &Request,
    ) -> Result<Vec<T>, Unanswered> {
        self.ask(request).await?;
        let mut items = Vec::new();
        while let Answered::Item(item) = self.next().await? {
            items.push(read(&item)?);
        }
        Ok(items)
    }

    /// Sends a request and returns the end of the answer, without its items.
    ///
    /// # Errors
    /// See [`Unanswered`].
    pub async fn done(&mut self, request: &Request) -> Result<Box<RawValue>, Unanswered> {
        self.ask(request).await?;
        loop {
            if let Answered::Done(done) = self.next().await? {
                return Ok(done);
            }
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The buffers of the socket are omitted.
        f.debug_struct("Client")
            .field("pid", &self.pid)
            .finish_non_exhaustive()
    }
}

/// A part of an answer.
#[derive(Clone, Debug)]
pub enum Answered {
    /// One of several items.
    Item(Box<RawValue>),
    /// The end of the answer.
    Done(Box<RawValue>),
}

/// Deserializes an item or the end of an answer.
///
/// # Errors
/// [`Unanswered::Lost`] if the message has another type.
pub fn read<T: DeserializeOwned>(said: &RawValue) -> Result<T, Unanswered> {
    serde_json::from_str(said.get()).map_err(|error| Unanswered::Lost(error.to_string()))
}

/// Applies the reply time limit to a future.
async fn in_time<T>(waits: impl Future<Output = Result<T, Unanswered>>) -> Result<T, Unanswered> {
    let in_time = tokio::time::timeout(REPLY_PATIENCE, waits).await;
    in_time.unwrap_or_else(|_| {
        let seconds = REPLY_PATIENCE.as_secs();
        Err(Unanswered::Lost(format!("it said nothing for {seconds} s")))
    })
}

/// The reason why a handshake failed.
enum HandshakeError {
    /// A final error.
    Error(ConnectError),
    /// The peer hung up without an answer. A service does so with the oldest connection if too many
    /// have not shown the token.
    HungUp(String),
}

/// Connects and shakes hands, with up to [`TRIES`] attempts if the peer hangs up.
async fn connect_with_retries(offer: &Offer) -> Result<WebSocketStream<TcpStream>, ConnectError> {
    let mut tries = 1;
    loop {
        let stream = TcpStream::connect(offer.address.address).await;
        let stream = stream.map_err(|source| ConnectError::Gone {
            address: offer.address.clone(),
            source,
        })?;
        // The protocol exchanges small messages in turn.
        let _ = stream.set_nodelay(true);
        match shake_hands(stream, offer).await {
            Ok(socket) => return Ok(socket),
            Err(HandshakeError::Error(error)) => return Err(error),
            Err(HandshakeError::HungUp(_)) if tries < TRIES => tries += 1,
            Err(HandshakeError::HungUp(why)) => {
                return Err(ConnectError::Refused {
                    address: offer.address.clone(),
                    reason: format!("they hung up, {TRIES} times: {why}"),
                });
            }
        }
    }
}

async fn shake_hands(
    stream: TcpStream,
    offer: &Offer,
) -> Result<WebSocketStream<TcpStream>, HandshakeError> {
    let address = offer.address.clone();
    let refused = |reason: String| {
        let address = offer.address.clone();
        HandshakeError::Error(ConnectError::Refused { address, reason })
    };
    let mut request = format!("ws://{}/", offer.address.address)
        .into_client_request()
        .map_err(|error| refused(error.to_string()))?;
    let mut shown = HeaderValue::from_str(&offer.token.shown())
        .map_err(|_| refused("the token cannot stand in a header".to_owned()))?;
    shown.set_sensitive(true);
    request.headers_mut().insert(AUTHORIZATION, shown);
    let key = request.headers().get(SEC_WEBSOCKET_KEY).cloned();
    let config = WebSocketConfig::default()
        .write_buffer_size(0)
        .max_message_size(Some(REPLY_BYTES_MAX))
        .max_frame_size(Some(REPLY_BYTES_MAX));
    match tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await {
        Ok((socket, answer)) => {
            let proof = answer.headers().get(PROOF_HEADER);
            let is_proven = |(proof, key): (&HeaderValue, HeaderValue)| {
                offer.proof.is_shown_by(proof.as_bytes(), key.as_bytes())
            };
            match proof.zip(key).is_some_and(is_proven) {
                true => Ok(socket),
                false => Err(HandshakeError::Error(ConnectError::Unproven(address))),
            }
        }
        Err(tungstenite::Error::Http(answer)) => {
            let said = answer.body().as_deref().unwrap_or_default();
            let said = String::from_utf8_lossy(said.get(..200).unwrap_or(said)).into_owned();
            Err(match answer.status() {
                StatusCode::SERVICE_UNAVAILABLE => {
                    HandshakeError::Error(ConnectError::Busy { address, said })
                }
                status => refused(format!("{} {said:?}", status.as_u16())),
            })
        }
        Err(
            error @ (tungstenite::Error::Io(_)
            | tungstenite::Error::ConnectionClosed
            | tungstenite::Error::Protocol(ProtocolError::HandshakeIncomplete)),
        ) => Err(HandshakeError::HungUp(error.to_string())),
        Err(error) => Err(refused(error.to_string())),
    }
}

fn lost(error: tungstenite::Error) -> Unanswered {
    Unanswered::Lost(error.to_string())
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
