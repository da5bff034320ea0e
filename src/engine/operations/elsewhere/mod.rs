//! Operations on sessions that another process owns, in a journal that several processes write.
//!
//! `wire` is an operation and its outcome as text, `forwarding` sends it to the owner and waits,
//! and `taking` carries out what others sent.

mod forwarding;
mod taking;
mod wire;
