//! What the journal promises, one module a promise.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at the first surprise"
)]

mod appends;
mod backups;
mod exports;
mod following;
mod imports;
mod index_injuries;
mod kills;
mod layout;
mod limits;
mod log_injuries;
mod opening;
mod power_loss;
mod running;
mod same_answers;
mod stream;
