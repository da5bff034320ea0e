//! Text for people: on one line, without control characters, and no wider than the terminal.
//!
//! This room knows no terminal, no session and no failure. Every other room prints through it.
//!
//! Read `one_line` first, then `glyph`, the characters that are visible. `count`, `age`, `actor`
//! and `path` format numbers, times, people and paths; `zone` is the option `--tz`, `duration`
//! reads spans of time, and `leave` has the words for standing leaves.

mod actor;
pub(crate) mod age;
mod count;
#[cfg(feature = "serve")]
pub(crate) mod duration;
mod glyph;
mod leave;
mod one_line;
mod path;
mod zone;

pub(crate) use actor::{acted, acted_in_short};
pub(crate) use count::count;
pub(crate) use leave::{bound_words, by_leave, end_of_leave, span};
pub(crate) use one_line::{cut, escaped, one_line, width, wrapped};
pub(crate) use path::{quoted, shown};
pub(crate) use zone::Zone;
