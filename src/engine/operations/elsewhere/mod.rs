//! Operations on sessions that another process owns, in a journal that several processes write.
//!
//! `wire` is an operation and its outcome as text, with `given` (an answer) and `lease_ms`;
//! `forwarding` sends it to the owner and waits, and `taking` carries out what others sent.

pub(super) mod forwarding;
pub(super) mod given;
pub(super) mod lease_ms;
mod taking;
mod wire;
