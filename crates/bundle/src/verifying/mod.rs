//! The verification of a bundle, which trusts nothing in it.
//!
//! `verify.py` in each bundle makes the same checks. Only the sample is checked here alone.
//!
//! Read `verify` first; `source` is the directory or zip file, `records` reads `records.jsonl`,
//! `terms` and `sample` check the other files against it.

mod records;
mod sample;
mod source;
mod terms;
mod verify;

pub use source::is_bundle;
pub use verify::{Anchored, BundleReport, Outside, verify_bundle};
