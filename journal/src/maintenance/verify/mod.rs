//! Verifies a journal's directory or an exported file, and reports everything that is wrong.
//!
//! A forger who rewrites records and everything that vouches for them alike, log and index or file
//! and trailer, is caught only by a root kept elsewhere: [`Report::against`]. Verification does not
//! know what a record means.

// Read `report` first, then `directory` (a journal) and `export` (a file).

mod directory;
pub(crate) mod export;
mod report;

pub(crate) use directory::INDEX_MISSING;
pub use directory::{directory, insecure_directory};
pub use export::{export, export_naming};
pub use report::{Integrity, Report};

pub use crate::store::survey::Finding;
