//! The ways of notifications to sinks.
//!
//! Routing depends on the records alone, so a restart routes them as before. Read `route` first.

mod filter;
mod hours;
mod plan;
mod route;

pub(crate) use filter::Names;
pub use filter::{Filter, Pattern};
pub use hours::{Days, Hours, TimeOfDay, UnfitHours};
pub(crate) use plan::{Dues, Plan, Watched};
pub use route::{Escalation, Route};
