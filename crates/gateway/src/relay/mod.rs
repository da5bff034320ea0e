//! The relay of one client: one task, which owns both sockets.
//!
//! Each direction has one bounded queue in order. Messages without calls pass at once. Read `task`
//! first; `setup` is its begin, `ends` its end. `passing` has the vendor's messages, `from_client`
//! the client's. `calls` decides what becomes of a call's message, `known` has the calls, `answers`
//! what clients said of them, `unrecorded` those that no record has, `withheld` those that a client
//! does not have, and `messages` makes messages of the gateway's own. `complaints` limits the log.
//! `session` is the way to the engine, with `opening`, `reports` and `copies`; `line` is one
//! direction, and `proofs` says what the vendor has read of it.

mod answers;
mod calls;
mod complaints;
mod copies;
mod ends;
mod from_client;
mod known;
mod line;
mod messages;
mod opening;
mod passing;
mod proofs;
mod reports;
mod session;
mod setup;
mod task;
mod unrecorded;
mod withheld;

pub(crate) use complaints::Complaints;
pub(crate) use task::{Client, Halves, Relay, Request, Shared};
