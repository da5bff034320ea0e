//! Audio, video and live input, which bypass the session and its journal.
//!
//! It does not know the session, and of its record only the counts of media. Read `media`, then
//! `pieces` and `input_lines` for the order of a client's input.

mod heard_media;
pub(super) mod input_lines;
pub(super) mod live_event;
pub(in crate::engine) mod media;
pub(in crate::engine) mod piece;
pub(in crate::engine) mod pieces;
mod withholding;
