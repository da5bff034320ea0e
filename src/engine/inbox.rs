//! What a session's task is told, by whom, and how it answers.

use tokio::sync::oneshot;

use super::ToolConfirmation;
use super::error::Error;
use crate::live::{ConnectError, Connection, ConnectionLost};
use crate::session::{Actor, Command, Connected, RequestId, Seq, Session};
use crate::tool::ToolOutcome;

/// The way back to whoever asked.
pub(super) type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// Something for a session's task to do.
pub(super) enum Input {
    /// Open a connection.
    Connect(Reply<()>),
    /// A connection was opened, or could not be.
    Opened(Box<Opened>),
    /// End the connection and what runs; what waits stays open.
    Disconnect(Reply<()>),
    /// As `Disconnect`, and end the task.
    ShutDown(Reply<()>),
    /// Say something to the model.
    SendText(String, Reply<()>),
    /// Answer a confirmation request.
    Answer {
        request: RequestId,
        confirmation: ToolConfirmation,
        by: Actor,
        reply: Reply<Seq>,
    },
    /// Anything else that may be refused.
    Command(Command, Reply<Seq>),
    /// Show the session as it is.
    State(oneshot::Sender<Session>),
    /// One more handle is in use.
    HandleTaken,
    /// One handle less.
    HandleDropped,
    /// A tool ended.
    ToolEnded {
        call: Seq,
        attempt: u32,
        outcome: ToolOutcome,
    },
    /// The provider answered.
    ProviderAnswered {
        request: Seq,
        confirmation: ToolConfirmation,
    },
    /// A time that somebody waits for has come.
    TimeCame,
    /// A response was written to the socket.
    Written { epoch: Seq, response: Seq },
}

/// What came of opening a connection, and who waits for it.
pub(super) struct Opened {
    pub(super) connected: Connected,
    pub(super) connection: Result<Connection, ConnectError>,
    pub(super) reply: Reply<()>,
}

/// What comes from a connection.
pub(super) enum Incoming {
    /// One message.
    Frame { socket: u64, text: String },
    /// The end.
    Lost { socket: u64, lost: ConnectionLost },
}
