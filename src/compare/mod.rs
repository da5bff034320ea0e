//! Two sessions side by side: where their stories part, whatever their times and ids.
//!
//! Turns are matched by what was said and called, calls by tool and arguments. Nothing is decided here and nothing runs:
//! what is compared stands on record.

mod alignment;
mod change;
mod difference;
mod story;

pub use change::Change;
pub use difference::{CallNamed, Difference, differences};
pub use story::{CallTold, Exactness, Story, Turn, told};
