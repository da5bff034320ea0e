//! Sessions that outlive their processes: waiting requests, calls in doubt, parked outcomes and
//! their delivery.
//!
//! A [`Life`](recount::testing::Life) is a process; the journal, the clock and the model outlive
//! it.

mod acknowledging;
mod approvals;
mod clients;
mod debt;
mod desk_claims;
mod doubt;
#[cfg(unix)]
mod implementation;
mod leave;
mod limits_of_asking;
mod paused;
mod pausing;
mod quorum;
mod registered_later;
mod secrets;
mod stories;
pub(crate) mod world;
