//! Trees, notes, checkpoints and proofs, also as foreign programs read them.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a panic is how a test fails"
)]

mod anchors;
mod checkpoints;
mod foreign;
mod injuries;
mod journals;
mod outages;
