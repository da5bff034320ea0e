//! A session as text to compare: one line an event, the same for two runs of the same conversation.
//!
//! Times, hashes, versions and endpoints are left out, and ids are numbered as they come up, so
//! that only what happened makes a difference. Nothing in `story` knows a journal, an engine or a
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
