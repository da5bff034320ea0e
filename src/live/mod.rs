//! The conversation with a Gemini Live service.
//!
//! [`wire`] is its language, as pure values; translation turns frames into observations and what is owed into frames;
//! a [`Connector`] carries them. Nothing in `live` knows what a call means or whether it may run.

pub mod wire;

mod capabilities;
#[cfg(feature = "engine")]
mod connector;
#[cfg(feature = "engine")]
pub(crate) mod manner;
#[cfg(feature = "engine")]
pub(crate) mod schema;
#[cfg(feature = "engine")]
pub(crate) mod setup;
#[cfg(feature = "engine")]
pub(crate) mod translate;

#[cfg(feature = "live")]
mod socket;

pub use capabilities::Capabilities;
#[cfg(feature = "engine")]
pub use connector::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};
#[cfg(feature = "engine")]
pub use manner::Modality;

#[cfg(feature = "live")]
pub use socket::Endpoint;
