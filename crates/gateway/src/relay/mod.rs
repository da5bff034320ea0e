//! The relay of one client: one task, which owns both sockets.
//!
//! Each direction has one bounded queue in order. Messages without calls pass at once. Read `task`
//! first. `calls` decides what becomes of a call's message, `known` has the calls, `answers` what
//! clients said of them, and `messages` makes messages of the gateway's own. `session` is the way
//! to the engine, `line` one direction.

mod answers;
mod calls;
mod known;
mod line;
mod messages;
mod passing;
mod session;
mod task;

pub(crate) use task::{Client, Halves, Relay, Request, Shared};
