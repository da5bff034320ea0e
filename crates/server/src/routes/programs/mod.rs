//! Sessions that programs drive, and calls that clients run.
//!
//! Read `opening`, then `making` with `call_state`; `claims` gives a call to a client, with
//! `known_tools`, and `claimed` has what the client reports about it.

mod call_state;
pub(crate) mod claimed;
pub(crate) mod claims;
mod known_tools;
pub(crate) mod making;
pub(crate) mod opening;
