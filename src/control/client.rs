//! The operator's side: finding the service of a journal, and asking it.

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
use super::message::{REQUEST_BYTES_MAX, Reply, Request};

/// How long a service on the same machine may take to open the door.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// How long it may say nothing to somebody who has asked.
const REPLY_PATIENCE: Duration = Duration::from_secs(60);

/// How often somebody knocks where nothing is said.
const TRIES: u32 = 5;

/// A record and its opened body, and some words around them.
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
    /// A log, so that it may be long until something comes.
    follows: bool,
}

impl Client {
    /// Connects to the service that has the journal in `directory` open.
    ///
    /// # Errors
    /// Why it cannot be reached.
    pub async fn connect(directory: &Path) -> Result<Client, ConnectError> {
        // Where others can write, the file may be anybody's; the superuser may ask another user's
        // service.
        match recount_journal::guard(directory) {
            Ok(()) | Err(recount_journal::Error::NotYours { .. }) => {}
            Err(error) => return Err(super::file::unusable(directory, error.to_string())),
        }
        if let Err(error) = recount_journal::guard_path(directory) {
            return Err(super::file::unusable(directory, error.to_string()));
        }
        Client::take(Offer::read(directory)?).await
    }

    /// Connects to the service that offers this, and to no other.
    pub(super) async fn take(offer: Offer) -> Result<Client, ConnectError> {
        match tokio::time::timeout(CONNECT_PATIENCE, knock(&offer)).await {
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

    /// The process of the service.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Asks for something; [`next`](Client::next) has what comes of it.
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

    /// The next item of the answer, or what it came to. A service that says nothing for a minute is
    /// lost, whatever else it sends, unless a log is followed.
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

    /// Asks, and gives all items of the answer.
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

    /// Asks, and gives what it came to, without items.
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
        // The buffers of the socket are nobody's business.
        f.debug_struct("Client")
            .field("pid", &self.pid)
            .finish_non_exhaustive()
    }
}

/// A part of an answer.
#[derive(Clone, Debug)]
pub enum Answered {
    /// One of several.
    Item(Box<RawValue>),
    /// The end.
    Done(Box<RawValue>),
}

/// What an item or an end says.
///
/// # Errors
/// [`Unanswered::Lost`] where it is something else.
pub fn read<T: DeserializeOwned>(said: &RawValue) -> Result<T, Unanswered> {
    serde_json::from_str(said.get()).map_err(|error| Unanswered::Lost(error.to_string()))
}

/// What waits for the other side, unless that takes too long.
async fn in_time<T>(waits: impl Future<Output = Result<T, Unanswered>>) -> Result<T, Unanswered> {
    let in_time = tokio::time::timeout(REPLY_PATIENCE, waits).await;
    in_time.unwrap_or_else(|_| {
        let seconds = REPLY_PATIENCE.as_secs();
        Err(Unanswered::Lost(format!("it said nothing for {seconds} s")))
    })
}

/// Why a handshake led nowhere.
enum Denied {
    /// That is final.
    Error(ConnectError),
    /// Nothing was said: a service does that to whoever gives way to others that came later.
    HungUp(String),
}

/// Knocks until somebody says something, a few times at most.
async fn knock(offer: &Offer) -> Result<WebSocketStream<TcpStream>, ConnectError> {
    let mut tries = 1;
    loop {
        let stream = TcpStream::connect(offer.address.address).await;
        let stream = stream.map_err(|source| ConnectError::Gone {
            address: offer.address.clone(),
            source,
        })?;
        // Small messages in turn are what this protocol is made of.
        let _ = stream.set_nodelay(true);
        match shake_hands(stream, offer).await {
            Ok(socket) => return Ok(socket),
            Err(Denied::Error(error)) => return Err(error),
            Err(Denied::HungUp(_)) if tries < TRIES => tries += 1,
            Err(Denied::HungUp(why)) => {
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
) -> Result<WebSocketStream<TcpStream>, Denied> {
    let address = offer.address.clone();
    let refused = |reason: String| {
        let address = offer.address.clone();
        Denied::Error(ConnectError::Refused { address, reason })
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
                false => Err(Denied::Error(ConnectError::Unproven(address))),
            }
        }
        Err(tungstenite::Error::Http(answer)) => {
            let said = answer.body().as_deref().unwrap_or_default();
            let said = String::from_utf8_lossy(said.get(..200).unwrap_or(said)).into_owned();
            Err(match answer.status() {
                StatusCode::SERVICE_UNAVAILABLE => {
                    Denied::Error(ConnectError::Busy { address, said })
                }
                status => refused(format!("{} {said:?}", status.as_u16())),
            })
        }
        Err(
            error @ (tungstenite::Error::Io(_)
            | tungstenite::Error::ConnectionClosed
            | tungstenite::Error::Protocol(ProtocolError::HandshakeIncomplete)),
        ) => Err(Denied::HungUp(error.to_string())),
        Err(error) => Err(refused(error.to_string())),
    }
}

fn lost(error: tungstenite::Error) -> Unanswered {
    Unanswered::Lost(error.to_string())
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
