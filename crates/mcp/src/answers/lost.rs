//! Results without the id of their request. Waiting requests fail because of one instead of
//! hanging.

use rmcp::ErrorData;
use tokio::sync::watch;

use super::unreadable::{Frame, lost_error};

/// The channel for results without an id. Each ends all waiting requests of the connection.
#[derive(Clone, Default)]
pub(crate) struct Lost(watch::Sender<String>);

impl Lost {
    /// Returns the messages that replace a frame; `None` if `bytes` stay unchanged.
    pub(crate) fn handle(&self, frame: Frame, bytes: usize) -> Option<Vec<String>> {
        match frame {
            Frame::AsItIs => None,
            // Not the text, which may hold secrets.
            Frame::Noise => {
                tracing::info!(
                    target: "recount::mcp",
                    bytes,
                    "a frame of a server was ignored: it is no message"
                );
                None
            }
            Frame::Replaced(messages) => Some(messages),
            Frame::Lost(what) => {
                tracing::warn!(target: "recount::mcp", "a server sent a result without an id");
                self.0.send_replace(what);
                None
            }
        }
    }

    /// Subscribes to later results without an id.
    pub(crate) fn listen(&self) -> Listening {
        Listening(self.0.subscribe())
    }
}

/// A subscription to results without an id.
pub(crate) struct Listening(watch::Receiver<String>);

impl Listening {
    /// Waits for the next result and returns it as the error of a request.
    pub(crate) async fn next(&mut self) -> ErrorData {
        if self.0.changed().await.is_err() {
            return std::future::pending().await;
        }
        lost_error(self.0.borrow().clone())
    }
}
