//! The promises of the journal, one module for each.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop at the first surprise"
)]

mod backups;
mod closed_ends;
mod compactions;
mod crash_points;
mod exports;
mod following;
mod format_two;
mod full_disks;
mod history;
mod imports;
mod in_place;
mod index_injuries;
mod index_states;
mod injuries;
mod killed;
mod kills;
mod layout;
mod limits;
mod log_injuries;
mod opening;
#[cfg(unix)]
mod others_write;
mod power_loss;
mod random;
mod read_exports;
mod repairs;
mod rolls;
mod running;
mod sealing;
mod spans;
mod stream;
mod suite;
mod whereabouts;
mod whole_frames;
mod witness;
