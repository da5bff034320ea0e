//! What the journal promises, one module a promise.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at the first surprise"
)]

mod appends;
mod compactions;
mod exports;
mod index_injuries;
mod killed;
mod kills;
mod limits;
mod log_injuries;
mod opening;
mod power_loss;
mod repairs;
mod rolls;
mod same_answers;
mod stream;
