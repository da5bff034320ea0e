//! Two sessions side by side, or a session and a fixture: where their stories part, whatever their
//! times and ids.
//!
//! Turns are matched by what was said and called, calls by turn, tool and arguments. Nothing is
//! decided here and nothing runs: what is compared stands on record. A fixture tells less than a
//! journal, so a session beside one is told as it tells.

mod alignment;
mod beside;
mod change;
mod difference;
mod pairing;
mod story;
mod told;

pub use beside::{recorded, recorded_beside, told_beside};
pub use change::Change;
pub use difference::{CallNamed, Difference, EventNamed, differences};
pub use story::{CallTold, EventTold, Place, Story, Turn};
pub use told::{Exactness, told};
