//! The view: the state that follows from the log up to a frame.
//!
//! The committer, an opening and a verification build it with the same code, because it follows
//! from the frames alone. It uses the log and the index, but not the queue, and takes no lock.
//!
//! Read `added` first (the changes of one append), then `committed` (the view).

mod added;
mod committed;

pub(crate) use added::Added;
pub(crate) use committed::View;
