//! The relay of one client: one task, which owns both sockets.
//!
//! Each direction has one bounded queue in order. Messages without calls pass at once. Read `task`
//! first; `calls` decides what a call's message becomes, `session` is the way to the engine, and
//! `line` is one direction, and `messages` makes the messages that are not forwarded ones.

pub(crate) mod calls;
mod line;
mod messages;
mod passing;
mod session;
mod task;

pub(crate) use task::{Client, Halves, Relay, Request, Shared};
