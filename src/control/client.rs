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
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::http::header::AUTHORIZATION;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};

use super::address::Address;
use super::error::{ConnectError, Unanswered};
use super::message::{Reply, Request};
use super::token::Token;

/// How long a service on the same machine may take to open the door.
const PATIENCE: Duration = Duration::from_secs(10);

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
}

impl Client {
    /// Connects to the service that has the journal in `directory` open.
    ///
    /// # Errors
    /// Why it cannot be reached.
    pub async fn connect(directory: &Path) -> Result<Client, ConnectError> {
        let address = Address::read(directory)?;
        let token = Token::read(directory)?;
        let pid = address.pid;
        let refused = |reason: String| ConnectError::Refused { pid, reason };
        let connecting = async {
            let stream = match TcpStream::connect(address.address).await {
                Ok(stream) => stream,
                Err(source) => return Err(ConnectError::Gone { address, source }),
            };
            // Small messages in turn are what this protocol is made of.
            let _ = stream.set_nodelay(true);
            shake_hands(stream, &address, &token).await.map_err(refused)
        };
        match tokio::time::timeout(PATIENCE, connecting).await {
            Ok(socket) => Ok(Client {
                socket: socket?,
                pid,
            }),
            Err(_) => Err(refused(format!("it took longer than {PATIENCE:?}"))),
        }
    }

    /// The process of the service.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Asks for something; [`next`](Client::next) has what comes of it.
    ///
    /// # Errors
    /// [`Unanswered::Lost`].
    pub async fn ask(&mut self, request: &Request) -> Result<(), Unanswered> {
        let text =
            serde_json::to_string(request).map_err(|error| Unanswered::Lost(error.to_string()))?;
        self.socket.send(Message::text(text)).await.map_err(lost)
    }

    /// The next item of the answer, or what it came to.
    ///
    /// # Errors
    /// See [`Unanswered`].
    pub async fn next(&mut self) -> Result<Answered, Unanswered> {
        loop {
            let text = match self.socket.next().await {
                Some(Ok(Message::Text(text))) => text,
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Ok(Message::Close(Some(_)))) => return Err(Unanswered::Ended),
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

async fn shake_hands(
    stream: TcpStream,
    address: &Address,
    token: &Token,
) -> Result<WebSocketStream<TcpStream>, String> {
    let mut request = format!("ws://{}/", address.address)
        .into_client_request()
        .map_err(|error| error.to_string())?;
    let mut shown = HeaderValue::from_str(&token.shown())
        .map_err(|_| "the token cannot stand in a header".to_owned())?;
    shown.set_sensitive(true);
    request.headers_mut().insert(AUTHORIZATION, shown);
    let config = WebSocketConfig::default()
        .write_buffer_size(0)
        .max_message_size(Some(REPLY_BYTES_MAX))
        .max_frame_size(Some(REPLY_BYTES_MAX));
    match tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::Error::Http(answer)) => {
            let why = answer.body().as_deref().unwrap_or_default();
            let why = String::from_utf8_lossy(why.get(..200).unwrap_or(why)).into_owned();
            Err(format!("{} {why}", answer.status().as_u16()))
        }
        Err(error) => Err(error.to_string()),
    }
}

fn lost(error: tungstenite::Error) -> Unanswered {
    Unanswered::Lost(error.to_string())
}
