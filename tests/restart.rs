//! Sessions that outlive their processes: what waits, what was cut off, what was parked, and who is told.
//!
//! A [`Life`](recount::testing::Life) is a process; the journal, the clock and the model outlive it.
#![cfg(all(feature = "testing", feature = "live"))]
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

#[path = "restart/approvals.rs"]
mod approvals;
#[path = "restart/debt.rs"]
mod debt;
#[path = "restart/doubt.rs"]
mod doubt;
#[path = "restart/paused.rs"]
mod paused;
#[path = "restart/registered_later.rs"]
mod registered_later;
#[path = "restart/secrets.rs"]
mod secrets;
#[path = "restart/stories.rs"]
mod stories;
#[path = "restart/world.rs"]
mod world;
