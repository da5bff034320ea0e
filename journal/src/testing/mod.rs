//! A disk in memory under the log, that can be made to fail and that can lose power at any
//! operation.

mod disk;
mod medium;

pub use disk::{Fault, MemoryDisk};
pub use medium::Tear;
