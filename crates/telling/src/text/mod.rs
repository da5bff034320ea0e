//! Text for people: on one line, without control characters, and no wider than asked.
//!
//! This room knows no session beyond its values. Every other room words its text with it.
//!
//! Read `one_line` first, then `glyph`, the characters that are visible, and `scripts`, the words
//! with letters that look alike. `count`, `age`, `actor`
//! and `path` format numbers, times, people and paths; `zone` is the time zone of the process,
//! `duration` reads spans of time, and `leave` has the words for standing leaves.

mod actor;
pub mod age;
mod count;
pub mod duration;
mod glyph;
mod leave;
mod one_line;
mod path;
mod scripts;
mod zone;

pub use actor::{acted, acted_in_short, party};
pub use count::count;
pub use leave::{bound_words, by_leave, end_of_leave, span};
pub use one_line::{COLUMNS, Piece, cut, escaped, one_line, pieces, width, wrapped};
pub use path::{quoted, shown};
pub use scripts::mixed_scripts;
pub use zone::Zone;
