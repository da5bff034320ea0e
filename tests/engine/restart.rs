//! Sessions that outlive their processes: what waits, what was cut off, what was parked, and who is told.
//!
//! A [`Life`](recount::testing::Life) is a process; the journal, the clock and the model outlive it.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

mod approvals;
mod debt;
mod doubt;
mod paused;
mod registered_later;
mod secrets;
mod stories;
mod world;
