//! A local port that reads the handshake of a WebSocket client.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

/// The HTTP request of the handshake.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
}

/// A local port that accepts one connection at a time.
pub(crate) struct Door {
    pub(crate) listener: TcpListener,
    pub(crate) host: String,
}

impl Door {
    pub(crate) async fn open() -> Door {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = format!("ws://{}", listener.local_addr().unwrap());
        Door { listener, host }
    }

    /// Accepts the next client.
    pub(crate) async fn let_in(&self) -> (Asked, WebSocketStream<TcpStream>) {
        let (stream, _) = self.listener.accept().await.unwrap();
        let mut asked = None;
        #[expect(clippy::result_large_err, reason = "the library's own type")]
        let note = |request: &Request, response: Response| {
            let headers = request.headers().iter();
            asked = Some(Asked {
                path: request.uri().to_string(),
                headers: headers
                    .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
                    .collect(),
            });
            Ok(response)
        };
        let socket = tokio_tungstenite::accept_hdr_async(stream, note).await;
        (asked.unwrap(), socket.unwrap())
    }
}

/// Receives the next message of a client, which must be a text.
pub(crate) async fn receive(socket: &mut WebSocketStream<TcpStream>) -> Value {
    match socket.next().await.unwrap().unwrap() {
        Message::Text(text) => serde_json::from_str(&text).unwrap(),
        other => panic!("{other:?}"),
    }
}
