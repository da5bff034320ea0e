//! Messages of the Gemini Live API as text: what they hold, and how they are divided.
//!
//! The gateway forwards messages, so it keeps their exact bytes. `vendor` and `client` decide by a
//! scan which messages must be read at all. `calls` and `responses` divide those messages, `setup`
//! reads what a client declares, and `declaring` adds declarations. `turns` finds calls
//! inside turns, and `answering` responses in any place. `members` and `media` are the readers
//! below them.
//!
//! Everything here is pure: no socket, no task, no engine.
//!
//! # Disagreement between readers
//! The engine judges one reading of a message, and the client runs another program's reading. So a
//! message that two readers could read differently is an error and never forwarded: repeated keys,
//! both spellings of one key, and keys that differ from a known one only in capitals and
//! underscores.

pub(crate) mod answering;
pub(crate) mod calls;
pub(crate) mod client;
pub(crate) mod declaring;
mod error;
mod json_schema;
mod media;
mod members;
pub(crate) mod responses;
pub(crate) mod setup;
pub(crate) mod turns;
pub(crate) mod vendor;

#[cfg(test)]
mod recorded_tests;

pub(crate) use error::FrameError;
