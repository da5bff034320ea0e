//! The WebSocket connection to a Gemini Live service, with the feature `live`.
//!
//! The module knows addresses, credentials, the handshake and frames as text. It does not know the
//! meaning of a frame. Read `endpoint` first.

mod endpoint;
mod environment;
mod handshake;
mod keepalive;
mod socket;
mod token_command;
mod token_source;

pub use endpoint::Endpoint;
pub use environment::IncompleteEnvironment;
pub use keepalive::Keepalive;
pub use token_command::TokenCommand;
pub use token_source::{AccessToken, TokenSource};
