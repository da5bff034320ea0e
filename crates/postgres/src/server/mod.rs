//! The server: connections to it, and what is known about it.
//!
//! Read `connections`, then `set_up` (their settings) and `reads`. `settings` tells what may lose
//! appends, `health` what the server refused. `clock` is that of leases.

pub(crate) mod clock;
mod connections;
mod health;
mod reads;
mod set_up;
pub(crate) mod settings;

pub(crate) use connections::{FREE, Server, query};
