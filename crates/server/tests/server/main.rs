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
mod audit_pages;
mod browsers;
mod card_words;
mod cards;
mod checkpoints;
mod claims;
mod clock;
mod documents;
mod driving;
mod figures;
mod frames;
mod guessing;
mod history_pages;
mod holds;
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
mod odd_names;
mod operations;
mod page;
mod proxies;
mod raw;
mod reads;
mod refused_forms;
mod repeating;
mod reports;
mod rests;
mod revoking;
mod sealing;
mod session_pages;
mod sinks;
mod story_pages;
mod streams;
mod strictness;
mod visitor;
mod world;
