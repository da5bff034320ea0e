//! One connection to the model's service: its socket, its writer, and what is known of the
//! connections before it.
//!
//! It decides nothing and has no session. Read `socket`, then `writer`; `reconnecting` is what a
//! session keeps between two connections.

pub(super) mod close_codes;
pub(super) mod held_back;
pub(super) mod incoming;
pub(super) mod message_limit;
pub(super) mod noise;
pub(super) mod reconnecting;
pub(super) mod socket;
pub(super) mod writer;
