//! How frames travel: whatever carries JSON messages both ways.
//!
//! In production that is a WebSocket; a test hands in a scripted model instead. Nothing here knows
//! what a frame says.

use async_trait::async_trait;

use super::limits::Limits;
use super::token_error::TokenError;
use crate::session::Platform;

/// Opens connections to a model's service.
#[async_trait]
pub trait Connector: Send + Sync + 'static {
    /// Where to, without credentials: what may stand in journals and logs.
    fn endpoint(&self) -> String;

    /// Who serves the model; it decides what can be sent to it.
    fn platform(&self) -> Platform {
        Platform::GoogleAi
    }

    /// How much is taken from the service.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// How the service spells the model that the caller named.
    fn model_name(&self, model: &str) -> String {
        if model.contains('/') {
            model.to_owned()
        } else {
            format!("models/{model}")
        }
    }

    /// What is wrong with it, as far as that is known without a connection: a URL that is none, a
    /// key that is empty. An agent is told of it together with its other mistakes.
    fn mistakes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Opens a connection.
    async fn connect(&self) -> Result<Connection, ConnectError>;
}

/// An open connection.
pub struct Connection {
    /// The way out.
    pub sender: Box<dyn FrameSender>,
    /// The way in.
    pub receiver: Box<dyn FrameReceiver>,
}

/// The way out of a connection.
///
/// A session polls it where it sends, and the connection's own task goes on with what the peer does
/// not take at once. So it must not block its thread, nor wait there for the session; and it may be
/// polled while the way in is, on another thread.
#[async_trait]
pub trait FrameSender: Send {
    /// Writes one JSON message.
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost>;

    /// Ends the connection in good order, as far as that is still possible.
    async fn close(&mut self);
}

/// The way in.
#[async_trait]
pub trait FrameReceiver: Send {
    /// The next JSON message. A wait that is dropped has taken none.
    async fn receive(&mut self) -> Result<String, ConnectionLost>;
}

/// A connection came to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection was lost{}: {reason}", code.map(|code| format!(" with code {code}")).unwrap_or_default())]
pub struct ConnectionLost {
    /// The WebSocket close code, if there was one.
    pub code: Option<u16>,
    /// The peer's reason, or what the network said.
    pub reason: String,
}

/// A connection could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The network, or the handshake.
    #[error("failed to connect to {endpoint}: {reason}")]
    Unreachable {
        /// Where to, without credentials.
        endpoint: String,
        /// What went wrong.
        reason: String,
    },
    /// What the endpoint was told cannot be used; nothing was sent.
    #[error("failed to connect to {endpoint}: {problem}")]
    Misconfigured {
        /// Where to, without credentials.
        endpoint: String,
        /// What is wrong.
        problem: String,
    },
    /// The service answered the handshake with something else than a connection.
    #[error("{endpoint} refused the handshake: {status} {reason}")]
    HandshakeRefused {
        /// Where to, without credentials.
        endpoint: String,
        /// The status of HTTP, such as 401.
        status: u16,
        /// The status in words.
        reason: String,
    },
    /// There is no token to show.
    #[error("failed to get an access token for {endpoint}")]
    NoToken {
        /// Where to, without credentials.
        endpoint: String,
        /// What its source said.
        source: TokenError,
    },
    /// The service closed the connection before the setup was complete.
    #[error("{endpoint} refused the setup: {lost}")]
    SetupRefused {
        /// Where to, without credentials.
        endpoint: String,
        /// What it said.
        lost: ConnectionLost,
    },
    /// The service did not complete the setup in time.
    #[error("{endpoint} did not complete the setup within {seconds} s")]
    SetupTimedOut {
        /// Where to, without credentials.
        endpoint: String,
        /// How long we waited.
        seconds: u64,
    },
    /// The first message of the service was not `setupComplete`.
    #[error("{endpoint} sent {found} instead of setupComplete")]
    SetupUnexpected {
        /// Where to, without credentials.
        endpoint: String,
        /// The beginning of what came.
        found: String,
    },
    /// The agent has no connection of its own.
    #[error("the agent {agent:?} has no endpoint to connect to")]
    NoEndpoint {
        /// The agent.
        agent: String,
    },
}
