//! The view: the sum of the log up to a frame.
//!
//! It follows from the frames alone, so the committer, an opening and a verification make it with
//! the same code. It knows the log and the index, but not the queue, and it takes no lock.
//!
//! Read `added` first (the changes of one append), then `committed` (the view).

mod added;
mod committed;

pub(crate) use added::Added;
pub(crate) use committed::View;
