//! The conversation: its phases and its state, and the ways of a response to the model.
//!
//! It does not know why a call ended. Read `conversation`, then `redelivery` and `phases`.

pub(crate) mod acknowledgement;
pub(crate) mod conversation;
pub(crate) mod phases;
pub(crate) mod redelivery;
pub(crate) mod scheduling;
pub(crate) mod state;
