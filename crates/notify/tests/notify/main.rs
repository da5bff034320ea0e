//! Notifications over real sockets, behind a real engine.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

mod dead_letters;
mod delivery;
mod restarts;
mod targets;
mod timed;

mod receiver;
mod world;
