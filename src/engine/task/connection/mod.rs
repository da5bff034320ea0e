//! The session's connection: opened, listened to, lost, and opened again.
//!
//! Read `connecting`, then `reconnecting`; every other file is about messages of one kind.

mod connecting;
mod held_back;
pub(super) mod message_limit;
mod noise;
pub(super) mod reconnecting;
mod story;
mod withholding;
mod words;
