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
#[cfg(feature = "jwt")]
mod issuer;
#[cfg(feature = "jwt")]
mod jwt_keys;
#[cfg(feature = "jwt")]
mod jwts;
#[cfg(feature = "jwt")]
mod key_urls;
mod limits;
mod listings;
mod matrix;
mod proxies;
mod repeating;
mod reports;
mod rests;
mod revoking;
mod sealing;
mod streams;
mod strictness;
mod world;
