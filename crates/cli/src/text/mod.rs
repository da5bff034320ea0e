//! Text for people: on one line, without control characters, and no wider than the terminal.
//!
//! This room knows no terminal, no session and no failure. Everything above it prints through it.
//!
//! Read `one_line` first, then `glyph`, the characters that are visible. `count` and `age` put
//! numbers and times into words.

pub(super) mod age;
pub(super) mod count;
mod glyph;
pub(super) mod one_line;
