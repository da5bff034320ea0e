//! A fake Gemini Live service that plays a script.
//!
//! A [`Script`] defines the model's behavior and the client's expected messages. A [`Player`] plays
//! it as a pure state machine. A [`Simulator`] serves the player on a local WebSocket. The
//! [`Transcript`] lists all messages received and sent, for assertions in tests. This crate does
//! not know the engine, sessions or journals.

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
