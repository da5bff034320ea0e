//! Notifications over real sockets, behind a real engine.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

mod dead_letters;
mod delivery;
mod outages;
mod recorded;
mod restarts;
mod sealing;
mod targets;
mod timed;

mod receiver;
#[path = "../../../traces/tests/support/mod.rs"]
#[expect(dead_code, reason = "the tests of spans need more of it")]
mod recorded_sessions;
mod world;
