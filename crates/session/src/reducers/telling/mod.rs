//! The conversation with the model: its phases, its state, and the routes of responses.
//!
//! This module does not know why a call ended. Read `conversation` and `responses`, then
//! `redelivery` and `phases`.

pub(crate) mod acknowledgement;
pub(crate) mod conversation;
pub(crate) mod phases;
pub(crate) mod redelivery;
pub(crate) mod responses;
pub(crate) mod scheduling;
pub(crate) mod shared_state;
