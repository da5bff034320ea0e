//! The session's connection: opening, reading, loss and reconnect.
//!
//! Read `connecting`, then `reconnecting`. Each other file handles messages of one kind.

mod connecting;
mod held_back;
mod history;
pub(super) mod message_limit;
mod noise;
pub(super) mod reconnecting;
mod relaying;
mod user_text;
mod withholding;
