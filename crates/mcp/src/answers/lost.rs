//! Results without the id of their request: no request waits for ever because of one.

use rmcp::ErrorData;
use tokio::sync::watch;

use super::unreadable::{Frame, lost_error};

/// The results of a connection that came without an id. Each ends all requests that wait there.
#[derive(Clone, Default)]
pub(crate) struct Lost(watch::Sender<String>);

impl Lost {
    /// The messages for the library in place of a frame; none where the frame stays.
    pub(crate) fn heed(&self, frame: Frame) -> Option<Vec<String>> {
        match frame {
            Frame::AsItIs => None,
            Frame::Replaced(messages) => Some(messages),
            Frame::Lost(what) => {
                tracing::warn!(target: "recount::mcp", "a server sent a result without an id");
                self.0.send_replace(what);
                None
            }
        }
    }

    /// Subscribes to the results that are lost from now on.
    pub(crate) fn listen(&self) -> Listening {
        Listening(self.0.subscribe())
    }
}

/// A subscription to lost results.
pub(crate) struct Listening(watch::Receiver<String>);

impl Listening {
    /// Waits for the next one, and returns it as the error of a request.
    pub(crate) async fn next(&mut self) -> ErrorData {
        if self.0.changed().await.is_err() {
            return std::future::pending().await;
        }
        lost_error(self.0.borrow().clone())
    }
}
