//! The journal in a database. Each test has a schema of its own, in a server that `.ci/postgres`
//! starts.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at the first surprise"
)]

mod claims;
mod client_claims;
mod damage;
mod encryption;
mod exports;
mod failing;
mod fencing;
mod followers;
mod forwarding;
mod holds;
mod locked;
mod news;
mod nodes;
mod openings;
mod outcomes;
mod pauses;
mod pinned;
mod place;
mod proxy;
mod servers;
mod starting;
mod stranded;
mod suite;
mod unowned;
