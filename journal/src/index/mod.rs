//! The index: heads, open items, objects and frames in sled, written behind the log and never
//! synced.
//!
//! The log has everything that the index has. The index does not know if it is up to date: it says
//! up to which frame it was written, and the opening compares. It does not know the view, which
//! keeps the changes until the index has them, and nothing of the threads.
//!
//! Read `rows` first (the keys and values), then `tree` (sled itself), `blocks` and `stored` (the
//! frames), `read` (the lookups), `places` (what a row of a stream holds), `kept` (the file with
//! the heads of waiting streams) and `check` (the comparison with the log).

mod blocks;
mod check;
pub(crate) mod kept;
mod places;
pub(crate) mod read;
mod rows;
mod stored;
mod tree;

pub(crate) use blocks::Walk;
pub(crate) use places::{ObjectPlace, Position, Stream};
pub(crate) use rows::Row;
pub(crate) use stored::Room;
pub(crate) use tree::{Index, ROOM_LEAST, is_in_use, refused_by_disk};
