//! The terminal of the program: standard output, colour, questions, progress bars, signals.
//!
//! This room opens no journal to report on it, and knows no command. `beside` alone names journals,
//! because the output of every command ends with the position up to which a journal was read.
//!
//! Read `screen` first, then `style` and `beside`; `prompt`, `progress` and `stop` stand alone.

mod beside;
pub(super) mod progress;
pub(super) mod prompt;
pub(super) mod screen;
pub(super) mod stop;
pub(super) mod style;
