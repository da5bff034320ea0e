//! The opening: the steps between the lock and the first append.
//!
//! It finds the end of the log, brings the index up to it, and builds the view. It does not know
//! the queue and its threads, which start with its result.
//!
//! Read `options` and `settings` first, then `recovery`, `pass` (a pass over the whole log),
//! `settling` (a new index for a closed journal) and `refused` (an opening that fails).

pub(crate) mod options;
mod pass;
pub(super) mod recovery;
mod refused;
pub(crate) mod settings;
pub(crate) mod settling;
