//! The backup of a journal that may be in use, and the restore.
//!
//! A backup is a directory that is a journal itself. It has the same id, the bytes of the same
//! frames, and a file `BACKUP` with its end. It can be verified by itself. A backup takes no lock,
//! changes nothing in the journal, and does not interpret records.

// Read `backing_up` first, then `copy` (frame by frame) with `out`, `restoring` and `beside`.

mod backing_up;
mod beside;
mod copy;
mod out;
mod restoring;

pub use backing_up::{BackedUp, directory};
pub use beside::Beside;
pub use restoring::{Restored, restore};
