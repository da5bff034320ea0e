//! The terminal of the program: standard output, colour, questions, progress bars, signals.
//!
//! This room knows no command. Only `beside` knows journals: the output of a command that read a
//! journal in use ends with the last commit that was read.
//!
//! Read `screen` first, then `style` and `beside`; `prompt`, `progress` and `stop` stand alone.

mod beside;
mod progress;
pub(crate) mod prompt;
mod screen;
mod stop;
mod style;

pub(crate) use progress::Meter;
#[cfg(feature = "mcp")]
pub(crate) use progress::Wait;
pub(crate) use recount_telling::{COLUMNS, Tone};
pub(crate) use screen::Screen;
pub(crate) use stop::Stop;
pub(crate) use style::{ColorChoice, Palette};
