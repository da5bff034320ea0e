//! The verification of a journal's directory or of an exported file. It reports every fault.
//!
//! A forger may rewrite records together with everything that confirms them: log and index, or file
//! and trailer. Only a root that is kept elsewhere reveals that: [`Report::against`]. Verification
//! does not interpret records.

// Read `report` first, then `directory` (a journal), `export` (a file) and `check` (its lines).

pub(crate) mod check;
mod directory;
pub(crate) mod export;
mod report;

pub(crate) use directory::INDEX_MISSING;
pub use directory::{directory, insecure_directory};
pub use export::{export, export_naming};
pub use report::{Integrity, Report};

pub use crate::store::survey::Finding;
