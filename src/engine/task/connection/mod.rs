//! The session's connection: opened, listened to, lost, and opened again.
//!
//! Read `connecting`, then `reconnecting`; every other file is about messages of one kind.

mod connecting;
mod held_back;
mod history;
pub(super) mod message_limit;
mod noise;
pub(super) mod reconnecting;
mod withholding;
mod words;
