//! A fake Gemini Live service that plays a script.
//!
//! A [`Script`] says what the model does when; a [`Player`] plays it as a pure state machine; a [`Simulator`] puts the
//! player behind a WebSocket on this machine. The [`Transcript`] says what was received and sent, so that a test
//! asserts on what the model was told. Nothing in `simulator` knows the engine, a session or a journal.

mod connection;
mod player;
mod script;
mod server;
mod transcript;

pub use player::Player;
pub use script::{Action, Script, ScriptError};
pub use server::{Running, Simulator, SimulatorError};
pub use transcript::{Answer, ConnectionId, Entry, Event, Side, Standing, Transcript};
