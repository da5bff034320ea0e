//! The opening: what happens between the lock and the first append.
//!
//! The end of the log is found, the index is brought up to it, and the view is made. The room does
//! not know the queue and its threads; those start with what it hands over.
//!
//! Read `options` and `settings` first, then `recovery`, `pass` (a reading of the whole log),
//! `settling` (a new index for a closed journal) and `refused` (an opening that ends with an
//! error).

pub(crate) mod options;
mod pass;
pub(super) mod recovery;
mod refused;
pub(crate) mod settings;
pub(crate) mod settling;
