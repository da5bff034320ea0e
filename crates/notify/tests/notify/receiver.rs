//! A receiver of messages over real sockets.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::routing::post;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// The longest wait of a test. Only a defect takes so long.
const HANGS_AFTER: Duration = Duration::from_secs(120);

/// A message that a receiver answered.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) status: u16,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    pub(crate) fn id(&self) -> String {
        self.headers["webhook-id"].to_str().unwrap().to_owned()
    }

    /// The type of the message, such as `recount.asked`.
    pub(crate) fn kind(&self) -> String {
        self.json()["type"].as_str().unwrap().to_owned()
    }
}

/// A receiver that keeps the messages it answered.
pub(crate) struct Receiver {
    pub(crate) url: String,
    received: mpsc::UnboundedReceiver<Received>,
    answers: Answers,
}

/// The answers to the next messages; 204 after them.
type Answers = Arc<Mutex<VecDeque<(u16, Option<&'static str>)>>>;

#[derive(Clone)]
struct Behind {
    answers: Answers,
    sender: mpsc::UnboundedSender<Received>,
}

impl Receiver {
    pub(crate) async fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Receiver::on(listener)
    }

    pub(crate) fn on(listener: TcpListener) -> Receiver {
        let (sender, received) = mpsc::unbounded_channel();
        let answers = Answers::default();
        let behind = Behind {
            answers: answers.clone(),
            sender,
        };
        let router = Router::new().fallback(post(take)).with_state(behind);
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Receiver {
            url,
            received,
            answers,
        }
    }

    /// Answers the next message with this status.
    pub(crate) fn answer(&self, status: u16, retry_after: Option<&'static str>) {
        self.answers
            .lock()
            .unwrap()
            .push_back((status, retry_after));
    }

    /// The next message.
    pub(crate) async fn next(&mut self) -> Received {
        within(self.received.recv()).await.unwrap()
    }

    /// True if no message has come since the last one.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.received.try_recv().is_err()
    }
}

/// Waits for something that must happen.
pub(crate) async fn within<T>(what: impl Future<Output = T>) -> T {
    timeout(HANGS_AFTER, what).await.unwrap()
}

async fn take(
    State(behind): State<Behind>,
    uri: Uri,
    headers: HeaderMap,
    text: String,
) -> (StatusCode, HeaderMap) {
    let answer = behind.answers.lock().unwrap().pop_front();
    let (status, retry_after) = answer.unwrap_or((204, None));
    let path = uri.path().to_owned();
    let _ = behind.sender.send(Received {
        status,
        path,
        headers,
        text,
    });
    let mut headers = HeaderMap::new();
    if let Some(wait) = retry_after {
        headers.insert("retry-after", wait.parse().unwrap());
    }
    (StatusCode::from_u16(status).unwrap(), headers)
}
