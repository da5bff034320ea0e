//! Text for people: on one line, without control characters, and no wider than the terminal.
//!
//! This room knows no terminal, no session and no failure. Everything above it prints through it.
//!
//! Read `one_line` first, then `glyph`, the characters that are visible. `count`, `age` and `path`
//! put numbers, times and paths into words.

pub(crate) mod age;
mod count;
mod glyph;
mod one_line;
mod path;

pub(crate) use count::count;
pub(crate) use one_line::{cut, escaped, one_line, width, wrapped};
pub(crate) use path::{quoted, shown};
