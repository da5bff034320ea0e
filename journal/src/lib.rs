#![doc = include_str!("../README.md")]

mod admission;
mod append;
mod cursor;
mod error;
mod export;
mod hash;
mod index;
mod journal;
mod log;
mod memory;
mod merkle;
mod open_work;
mod record;
pub mod seal;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod timestamp;
pub mod verify;

pub use admission::{APPEND_LIMIT, OBJECT_LIMIT, RECORD_LIMIT};
pub use append::{Append, Durability, Head, Object, OpenItem, WorkChange};
pub use error::{Error, Malformed};
pub use export::{Trailer, TrailerHead, export};
pub use hash::{Hash, NotAHash};
pub use journal::{BoxFuture, Journal, block_on};
pub use log::disk;
pub use memory::MemoryJournal;
pub use record::{Actor, Draft, Line, Record};
pub use store::{After, DiskJournal, IndexState, Opened, Options, Progress};
