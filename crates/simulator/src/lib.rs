//! A fake Gemini Live service that plays a script.
//!
//! A [`Script`] says what the model does when, and what the client is expected to send; a
//! [`Player`] plays it as a pure state machine; a [`Simulator`] puts the player behind a WebSocket
//! on this machine. The [`Transcript`] says what was received and sent, so that a test asserts on
//! what the model was told. Nothing in `simulator` knows the engine, a session or a journal.

mod connection;
mod expectation;
mod faults;
mod handles;
mod player;
mod reading;
mod recording;
mod reply;
mod script;
mod serve;
mod server;
mod service;
mod step;
mod strict;
mod transcript;
mod trigger;
#[cfg(feature = "yaml")]
mod yaml;

pub use expectation::Unmet;
pub use player::{Action, Player, Wait};
pub use recording::Frame;
pub use script::{Script, ScriptError};
pub use server::{Running, Simulator, SimulatorError};
pub use step::RawFrame;
pub use transcript::{Answer, ConnectionId, Entry, Event, Side, Standing, Transcript};
