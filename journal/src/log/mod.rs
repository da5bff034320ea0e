//! The log: what is acknowledged is in it, and everything else can be made again from it.
//!
//! A segment begins with its header; then frame follows frame, each one commit; then zeros, preallocated.
//! The log knows nothing of the index, and of records only that they are lines.

pub mod disk;
mod entry;
mod frame;
mod reader;
mod writer;

pub(crate) use entry::{Entry, encode as encode_entry, put_item, split as split_entries};
pub(crate) use frame::{Header, SEGMENT_HEADER, SegmentHeader, segment_name};
pub(crate) use reader::{Bad, LogReader, Step};
pub(crate) use writer::{LogWriter, Written};
