//! A disk in memory for the log, which can fail on command and lose power at any operation.

mod disk;
mod medium;

pub use disk::{Fault, MemoryDisk};
pub use medium::Tear;
