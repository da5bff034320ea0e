//! The log: the source of truth, from which everything else can be rebuilt.
//!
//! A segment starts with its header. Frames follow, each of them one commit, then preallocated
//! zeros. The log does not use the index, and knows records only as lines.
//!
//! Read `frame` and `logged_append` first (the bytes), then `writer`, `reader` (one segment),
//! `segments` (all of them), `files` (single appends and objects). Beside them: `cursor` and
//! `in_place`.

pub(crate) mod cursor;
mod files;
mod frame;
mod in_place;
mod logged_append;
mod reader;
pub(crate) mod segments;
mod writer;

pub(crate) use files::LogFiles;
pub(crate) use frame::{
    FRAME_HEADER, FRAME_MAGIC, FrameBytes, FramePlace, Header, Place, SEGMENT_HEADER,
    SegmentHeader, Written, segment_name,
};
pub(crate) use logged_append::{
    APPEND_HEADER, Encoded, LoggedAppend, encode as encode_append, put_item, take_item,
};
pub(crate) use reader::{Bad, LogReader, Step};
pub(crate) use segments::read as read_log;
pub(crate) use writer::{LogWriter, Unwritten, is_full};
