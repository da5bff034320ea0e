//! The conversation with a Gemini Live service.
//!
//! [`wire`] is its language, as pure values; translation turns frames into observations and what is owed into frames;
//! a [`Connector`] carries them. Nothing in `live` knows what a call means or whether it may run.

pub mod wire;

#[cfg(feature = "engine")]
mod connector;
#[cfg(feature = "engine")]
mod schema;
#[cfg(feature = "engine")]
pub(crate) mod setup;
#[cfg(feature = "engine")]
pub(crate) mod translate;

#[cfg(feature = "live")]
mod socket;

#[cfg(feature = "engine")]
pub use connector::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};

#[cfg(feature = "engine")]
pub use schema::SchemaForm;

#[cfg(feature = "live")]
pub use socket::Endpoint;
