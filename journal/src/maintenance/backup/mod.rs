//! Copies a journal while it is written, and makes a journal of the copy again.
//!
//! A backup is a directory that is a journal of its own, with the same id and the bytes of the same
//! frames, and with a file `BACKUP` that says where it ends. It can be verified by itself. A backup
//! takes no lock and changes nothing in the journal; it does not know what a record means.

// Read `backing_up` first, then `copy` (frame by frame) with `out`, `restoring` and `beside`.

mod backing_up;
mod beside;
mod copy;
mod out;
mod restoring;

pub use backing_up::{BackedUp, directory};
pub use beside::Beside;
pub use restoring::{Restored, restore};
