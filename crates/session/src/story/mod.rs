//! Sessions as text to compare: one line per event, equal for two runs of one conversation.
//!
//! Times, hashes, versions and endpoints are left out, and ids are numbered in order of appearance.
//! So two transcripts differ only in the events. Nothing in `story` knows a journal, an engine or a
//! screen.

mod difference;
mod fields;
mod line;
mod telling;
mod text;

pub use difference::{Change, Difference};
pub use line::{Field, Line, Said};
pub use telling::Teller;
pub use text::Story;
