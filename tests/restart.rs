//! Sessions that outlive their processes: what waits, what was cut off, what was parked, and who is told.
//!
//! A [`Life`](recount::testing::Life) is a process; the journal, the clock and the model outlive it.
#![cfg(all(feature = "testing", feature = "live"))]

#[path = "restart/approvals.rs"]
mod approvals;
#[path = "restart/doubt.rs"]
mod doubt;
#[path = "restart/paused.rs"]
mod paused;
#[path = "restart/secrets.rs"]
mod secrets;
#[path = "restart/stories.rs"]
mod stories;
#[path = "restart/world.rs"]
mod world;
