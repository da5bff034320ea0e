//! Server-sent events: messages that a client reads as they come.
//!
//! Nothing is queued for a client. A stream reads the journal when the client has read the message
//! before, so a slow client holds neither the engine nor memory. Read `message`, then `stream`.

mod message;
mod stream;

pub(crate) use message::{Message, json};
pub(crate) use stream::{Source, start};
