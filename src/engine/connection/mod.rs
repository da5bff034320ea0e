//! One connection to the model's service: its socket, its writer, and what earlier connections
//! left.
//!
//! It decides nothing and has no session. Read `socket`, then `writer`; `reconnecting` is the state
//! that a session keeps between two connections.

pub(super) mod close_codes;
pub(super) mod held_back;
pub(super) mod incoming;
pub(super) mod message_limit;
pub(super) mod noise;
pub(super) mod reconnecting;
pub(super) mod socket;
pub(super) mod writer;
