//! The differences between two sessions, or between a session and a fixture, apart from times and
//! ids.
//!
//! Turns are matched by their words and tool names, and calls by turn, tool and arguments. Only
//! recorded data is compared: nothing is decided and nothing runs. A fixture holds less than a
//! journal, so a session is reduced to the fields of a fixture before the two are compared.

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
