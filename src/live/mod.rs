//! The conversation with a Gemini Live service.
//!
//! [`wire`] is its language, as pure values; `incoming` turns frames into observations, `outgoing`
//! what is owed into frames; a [`Connector`] carries them. Nothing in `live` knows what a call
//! means or whether it may run.

pub use recount_wire as wire;

mod connector;
pub(crate) mod continuation;
pub(crate) mod incoming;
mod limits;
pub(crate) mod manner;
pub(crate) mod outgoing;
pub(crate) mod schema;
pub(crate) mod streamed;
mod token_error;

mod websocket;

pub use crate::session::{Capabilities, Platform};
pub use connector::{
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender,
};
pub use limits::Limits;
pub use manner::Modality;
pub use token_error::TokenError;
pub use websocket::*;
