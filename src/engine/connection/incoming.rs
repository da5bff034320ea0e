//! Events of a connection, on their way to the session.

use super::writer::Carried;
use crate::live::ConnectionLost;

/// An event of a connection.
pub(in crate::engine) enum Incoming {
    /// One message.
    Frame {
        socket: u64,
        text: String,
        /// The number of the message, from 1.
        number: u64,
    },
    /// A message that settles an owed effect was written.
    Written { socket: u64, carried: Carried },
    /// The end of the connection.
    Lost { socket: u64, lost: ConnectionLost },
}

impl Incoming {
    /// Returns the memory that a queued event takes, in bytes. An event without text counts, too.
    pub(in crate::engine) fn bytes(&self) -> usize {
        let text = match self {
            Incoming::Frame { text, .. } => text.len(),
            Incoming::Written { .. } | Incoming::Lost { .. } => 0,
        };
        size_of::<Incoming>() + text
    }
}
