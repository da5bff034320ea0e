//! Audio, video and live input: past the session and its journal, from the socket to listeners
//! and back.
//!
//! It does not know the session, and of its record only the counts of media. Read `media`, then
//! `pieces` and `input_lines` for the order of what a client sends.

mod heard_media;
pub(super) mod input_lines;
pub(super) mod live_event;
pub(in crate::engine) mod media;
pub(in crate::engine) mod piece;
pub(in crate::engine) mod pieces;
mod withholding;
