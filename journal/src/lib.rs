#![doc = include_str!("../README.md")]

mod admission;
mod append;
pub mod backup;
mod compact;
mod cursor;
mod draft;
mod error;
mod export;
mod hash;
mod import;
mod index;
mod journal;
mod line;
mod log;
mod memory;
mod merkle;
mod open_work;
mod plain_line;
mod record;
mod repair;
pub mod seal;
mod store;
mod strict_json;
mod swap;
#[cfg(feature = "testing")]
pub mod testing;
mod timestamp;
mod unfinished;
pub mod verify;
mod view;

pub use admission::{APPEND_LIMIT, DEPTH_LIMIT, OBJECT_LIMIT, RECORD_LIMIT};
pub use append::{Append, Durability, Head, Object, OpenItem, WorkChange};
pub use compact::{CompactOptions, Compacted, compact};
pub use draft::Draft;
pub use error::{Error, Malformed, Unreadable};
pub use export::{Trailer, TrailerHead, export};
pub use hash::{Hash, NotAHash};
pub use import::{Imported, import};
pub use journal::{BoxFuture, Commit, Journal, block_on};
pub use line::Line;
pub use log::disk;
pub use memory::MemoryJournal;
pub use record::{Actor, Record};
pub use repair::{Damage, Hurt, Remedy, RepairOptions, Repaired, repair};
pub use store::{After, DiskJournal, IndexState, Metrics, Opened, Options, Progress};
