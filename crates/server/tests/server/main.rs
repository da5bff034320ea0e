//! Tests of the HTTP API: the real router over a real engine in memory.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that meets the impossible must stop"
)]

mod bench;

mod answering;
mod approvers;
mod attacks;
mod browsers;
mod claims;
mod clock;
mod documents;
mod driving;
mod guessing;
mod listings;
mod matrix;
mod repeating;
mod reports;
mod revoking;
mod streams;
mod strictness;
mod world;
