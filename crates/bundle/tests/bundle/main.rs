//! Bundles of real sessions: what they have, what their verification finds, and what it cannot.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a panic is how a test fails"
)]

mod bundles;
mod files;
mod injuries;
mod journals;
mod promises;
mod python;
mod rewrites;
