//! The files of a bundle, from its contents and the journal.
//!
//! Read `write` first; `files` is the directory or zip file, `records` writes `records.jsonl`,
//! `checkpoints` chooses the checkpoints, `proofs` has the proofs, `readme` the first page, `page`
//! takes values out of the page.

mod checkpoints;
mod files;
mod page;
mod proofs;
mod readme;
mod records;
mod write;

pub(crate) use files::MANIFEST;
pub use files::sha256;
pub use write::{WriteError, Written, write};
