//! A session in words: its events as sentences, its state as an outline.
//!
//! This room takes events and states as they come; it opens no journal and knows no command.
//!
//! Read `sentence` first, with `names` and `phrases`; then `timeline`, its lines with time and seq,
//! and `follow`, a timeline of a session that is served. `outline` prints JSON.

pub(super) mod follow;
pub(super) mod names;
pub(super) mod outline;
pub(super) mod phrases;
pub(super) mod sentence;
pub(super) mod timeline;
