//! The terminal of the program: standard output, colour, questions, progress bars, signals.
//!
//! This room knows no command. Only two of its files know journals. `beside` ends the output of a
//! command that read a copy of a journal with the last commit that was read. `unknown_work` is the
//! failure of a command that could not fold every session of an export.
//!
//! Read `screen` first, then `style` and `beside`; `prompt`, `progress`, `stop` and `log_lines`
//! stand alone.

mod beside;
pub(crate) mod log_lines;
mod progress;
pub(crate) mod prompt;
mod screen;
mod stop;
mod style;
mod unknown_work;

pub(crate) use beside::Cause;
pub(crate) use progress::Meter;
#[cfg(feature = "mcp")]
pub(crate) use progress::Wait;
pub(crate) use recount_telling::{COLUMNS, Tone};
pub(crate) use screen::Screen;
pub(crate) use stop::Stop;
pub(crate) use style::{ColorChoice, Palette};
