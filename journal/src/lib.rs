#![doc = include_str!("../README.md")]

mod error;
mod files;
mod follow_place;
mod future;
mod hash;
mod index;
mod journal;
mod log;
mod maintenance;
mod memory;
mod records;
pub mod seal;
mod sharing;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tree;
mod view;

pub use error::{Error, Malformed};
pub use files::disk;
pub use files::guard::{guard, guard_path};
pub use follow_place::FollowPlace;
pub use future::{BoxFuture, block_on};
pub use hash::{Hash, NotAHash};
pub use journal::{Commit, Journal, Space, Span};
pub use maintenance::compact::{CompactOptions, Compacted, compact};
pub use maintenance::export::{export, export_shown};
pub use maintenance::export_writer::ExportWriter;
pub use maintenance::import::{Imported, import, import_then};
pub use maintenance::read_export::{import_appends, read_export};
pub use maintenance::repair::{Damage, Hurt, Remedy, RepairOptions, Repaired, repair};
pub use maintenance::{backup, verify};
pub use memory::MemoryJournal;
#[doc(hidden)]
pub use records::admission::Admission;
pub use records::append::{Append, CarriedOut, Durability, Head, Object, OpenItem, WorkChange};
pub use records::draft::Draft;
pub use records::export_lines::{Trailer, TrailerHead};
pub use records::limits::{APPEND_LIMIT, DEPTH_LIMIT, OBJECT_LIMIT, RECORD_LIMIT};
pub use records::line::Line;
pub use records::outline::Outline;
pub use records::record::{Actor, Record};
pub use recount_text::json::Unreadable;
pub use sharing::{Asked, Opening, Sharing, Unowned};
pub use store::{After, DiskJournal, IndexState, Metrics, Opened, Options, Progress, own_append};
