//! The transport of frames: any connection that carries JSON messages both ways.
//!
//! In production that is a WebSocket; a test supplies a scripted model instead. This module does
//! not know the meaning of a frame.

use async_trait::async_trait;

use super::limits::Limits;
use super::token_error::TokenError;
use crate::session::{Platform, Seq};

/// Opens connections to a model's service.
#[async_trait]
pub trait Connector: Send + Sync + 'static {
    /// Returns the address without credentials, which may appear in journals and logs.
    fn endpoint(&self) -> String;

    /// Returns the platform that serves the model. It determines what can be sent.
    fn platform(&self) -> Platform {
        Platform::GoogleAi
    }

    /// Returns the limits for messages from the service.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// Returns the service's spelling of the model's name.
    fn model_name(&self, model: &str) -> String {
        if model.contains('/') {
            model.to_owned()
        } else {
            format!("models/{model}")
        }
    }

    /// Returns the faults that are known without a connection, such as an invalid URL or an empty
    /// key. They are reported together with the agent's other mistakes.
    fn mistakes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Opens a connection.
    async fn connect(&self) -> Result<Connection, ConnectError>;
}

/// An open connection.
pub struct Connection {
    /// The sending half.
    pub sender: Box<dyn FrameSender>,
    /// The receiving half.
    pub receiver: Box<dyn FrameReceiver>,
}

/// The sending half of a connection.
///
/// The session polls `send` in its own task. If the peer does not accept the frame at once, the
/// connection's task continues it. So an implementation must not block its thread or wait for the
/// session. It may be polled at the same time as the receiving half, on another thread.
#[async_trait]
pub trait FrameSender: Send {
    /// Sends one JSON message.
    async fn send(&mut self, frame: String) -> Result<(), ConnectionLost>;

    /// Sends a JSON message with the response to a call. By default it is sent like any other.
    async fn respond(&mut self, frame: String, told: Told) -> Result<(), ConnectionLost> {
        let _ = told;
        self.send(frame).await
    }

    /// Closes the connection cleanly, if that is still possible.
    async fn close(&mut self);
}

/// The response to a call that a message carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The record of the call.
    pub call: Seq,
    /// The tool.
    pub tool: String,
    /// The id that the model gave the call.
    pub id: Option<String>,
    /// True if the message says it as text of the conversation, because the model does not wait for
    /// a response by the id.
    pub as_conversation: bool,
    /// True if the outcome of the call comes later.
    pub is_interim: bool,
}

/// The receiving half of a connection.
#[async_trait]
pub trait FrameReceiver: Send {
    /// Receives the next JSON message. Cancel safe: a dropped future has taken no message.
    async fn receive(&mut self) -> Result<String, ConnectionLost>;
}

/// The error of a connection that has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection was lost{}: {reason}", code.map(|code| format!(" with code {code}")).unwrap_or_default())]
pub struct ConnectionLost {
    /// The WebSocket close code, if there is one.
    pub code: Option<u16>,
    /// The peer's reason, or the network error.
    pub reason: String,
}

/// The reason why a connection could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The network or the handshake failed.
    #[error("failed to connect to {endpoint}: {reason}")]
    Unreachable {
        /// The address, without credentials.
        endpoint: String,
        /// The error.
        reason: String,
    },
    /// The endpoint's settings are unusable; nothing was sent.
    #[error("failed to connect to {endpoint}: {problem}")]
    Misconfigured {
        /// The address, without credentials.
        endpoint: String,
        /// A description of the fault.
        problem: String,
    },
    /// The service answered the handshake with an HTTP error.
    #[error("{endpoint} refused the handshake: {status} {reason}")]
    HandshakeRefused {
        /// The address, without credentials.
        endpoint: String,
        /// The HTTP status, such as 401.
        status: u16,
        /// The status in words.
        reason: String,
    },
    /// No token is available.
    #[error("failed to get an access token for {endpoint}")]
    NoToken {
        /// The address, without credentials.
        endpoint: String,
        /// The error of the token source.
        source: TokenError,
    },
    /// The service closed the connection before the setup was complete.
    #[error("{endpoint} refused the setup: {lost}")]
    SetupRefused {
        /// The address, without credentials.
        endpoint: String,
        /// The end of the connection.
        lost: ConnectionLost,
    },
    /// The service did not complete the setup in time.
    #[error("{endpoint} did not complete the setup within {seconds} s")]
    SetupTimedOut {
        /// The address, without credentials.
        endpoint: String,
        /// The time limit, in seconds.
        seconds: u64,
    },
    /// The first message of the service was not `setupComplete`.
    #[error("{endpoint} sent {found} instead of setupComplete")]
    SetupUnexpected {
        /// The address, without credentials.
        endpoint: String,
        /// The beginning of that message.
        found: String,
    },
    /// The agent has no connector.
    #[error("the agent {agent:?} has no endpoint to connect to")]
    NoEndpoint {
        /// The agent.
        agent: String,
    },
}
