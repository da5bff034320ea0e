//! The conversation with a Gemini Live service.
//!
//! [`wire`] is its language, as pure values; translation turns frames into observations and what is owed into frames;
//! a [`Connector`] carries them. Nothing in `live` knows what a call means or whether it may run.

pub mod wire;

mod capabilities;
mod platform;

#[cfg(feature = "engine")]
mod connector;
#[cfg(feature = "engine")]
pub(crate) mod continuation;
#[cfg(feature = "engine")]
mod limits;
#[cfg(feature = "engine")]
pub(crate) mod manner;
#[cfg(feature = "engine")]
pub(crate) mod schema;
#[cfg(feature = "engine")]
pub(crate) mod setup;
#[cfg(feature = "engine")]
pub(crate) mod streamed;
#[cfg(feature = "engine")]
mod token_error;
#[cfg(feature = "engine")]
pub(crate) mod translate;

#[cfg(feature = "live")]
mod endpoint;
#[cfg(feature = "live")]
mod environment;
#[cfg(feature = "live")]
mod handshake;
#[cfg(feature = "live")]
mod keepalive;
#[cfg(feature = "live")]
pub(crate) mod secret;
#[cfg(feature = "live")]
mod socket;
#[cfg(feature = "live")]
mod token_command;
#[cfg(feature = "live")]
mod token_source;

pub use capabilities::Capabilities;
#[cfg(feature = "engine")]
pub use connector::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};
#[cfg(feature = "engine")]
pub use limits::Limits;
#[cfg(feature = "engine")]
pub use manner::Modality;
pub use platform::Platform;
#[cfg(feature = "engine")]
pub use token_error::TokenError;

#[cfg(feature = "live")]
pub use endpoint::Endpoint;
#[cfg(feature = "live")]
pub use environment::IncompleteEnvironment;
#[cfg(feature = "live")]
pub use keepalive::Keepalive;
#[cfg(feature = "live")]
pub use token_command::TokenCommand;
#[cfg(feature = "live")]
pub use token_source::{AccessToken, TokenSource};
