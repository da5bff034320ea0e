//! Trees, notes, checkpoints and proofs, also as foreign programs read them.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod checkpoints;
mod foreign;
mod injuries;
mod journals;
