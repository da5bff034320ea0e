//! The index: heads, open items, objects and frames in sled, written after the log and not synced.
//!
//! The log has everything that the index has. The index has a mark of the last frame that it
//! covers, and the opening compares this mark with the log. The index does not use the view, which
//! keeps the changes until the index has them, and no threads.
//!
//! Read `rows` first (the keys and values), then `tree` (sled itself), `frames` and `stored` (the
//! frames), and `read` (the lookups). Beside them: `places` (the content of a stream's row), `kept`
//! (the file with the heads of waiting streams) and `check` (the comparison with the log).

mod check;
mod frames;
pub(crate) mod kept;
mod places;
pub(crate) mod read;
mod rows;
mod stored;
mod tree;

pub(crate) use frames::Walk;
pub(crate) use places::{ObjectPlace, Position, Stream};
pub(crate) use rows::Row;
pub(crate) use stored::CompressionBuffer;
pub(crate) use tree::{FREE_SPACE_MIN, Index, is_in_use, refused_by_disk};
