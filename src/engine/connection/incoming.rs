//! Events of a connection, on their way to the session.

use super::writer::Carried;
use crate::live::ConnectionLost;

/// What comes from a connection.
pub(in crate::engine) enum Incoming {
    /// One message.
    Frame { socket: u64, text: String },
    /// What was owed to the model was written.
    Written { socket: u64, carried: Carried },
    /// The end.
    Lost { socket: u64, lost: ConnectionLost },
}

impl Incoming {
    /// How much memory this takes while it waits for the session: also what says nothing takes
    /// some.
    pub(in crate::engine) fn bytes(&self) -> usize {
        let text = match self {
            Incoming::Frame { text, .. } => text.len(),
            Incoming::Written { .. } | Incoming::Lost { .. } => 0,
        };
        size_of::<Incoming>() + text
    }
}
