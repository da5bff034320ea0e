//! The log: what is acknowledged is in it, and everything else can be made again from it.
//!
//! A segment begins with its header; then frame follows frame, each one commit; then zeros,
//! preallocated. The log knows nothing of the index, and of records only that they are lines.
//!
//! Read `frame` and `entry` first (the bytes), then `writer`, `reader` (one segment), `segments`
//! (all of them), `files` (single appends and objects). Beside them: `cursor` and `in_place`.

pub(crate) mod cursor;
mod entry;
mod files;
mod frame;
mod in_place;
mod reader;
pub(crate) mod segments;
mod writer;

pub(crate) use entry::{ENTRY_HEADER, Encoded, Entry, encode as encode_entry, put_item, take_item};
pub(crate) use files::LogFiles;
pub(crate) use frame::{
    Block, FRAME_HEADER, FRAME_MAGIC, FramePlace, Header, Place, SEGMENT_HEADER, SegmentHeader,
    Written, segment_name,
};
pub(crate) use reader::{Bad, LogReader, Step};
pub(crate) use segments::read as read_log;
pub(crate) use writer::{LogWriter, Unwritten, is_full};
