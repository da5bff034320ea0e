//! The conversation with a Gemini Live service.
//!
//! [`wire`] has the protocol's messages as values. `incoming` converts frames to observations,
//! `outgoing` converts owed effects to frames, and a [`Connector`] transports them. Nothing in
//! `live` knows the meaning of a call or whether it may run.

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
    ConnectError, Connection, ConnectionLost, Connector, FrameReceiver, FrameSender, Told,
};
pub use limits::Limits;
pub use manner::Modality;
pub use token_error::TokenError;
pub use websocket::*;
