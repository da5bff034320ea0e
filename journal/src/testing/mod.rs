//! Tests of journals: a disk in memory for the log, which can fail on command and lose power at any
//! operation, and the checks that hold for every store.

mod disk;
mod medium;
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "only tests use it"
)]
mod stream;
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a check may stop at the first surprise"
)]
pub mod suite;

pub use disk::{Fault, MemoryDisk};
pub use medium::Tear;
pub use stream::Stream;
