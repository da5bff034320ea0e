//! The tasks behind the sinks, one for each.
//!
//! Read `task` first, then `starting`, its start, and `repeating`, what it sends by the clock.
//! `reading` finds the notices in commits, `outbox` orders their attempts, `letters` keeps what is
//! not tried any more, `timers` has the requests that may be sent again, `digests` the numbers of
//! a day. `state` is what survives a restart, `saving` writes it, `status` is what
//! operators see.

mod digests;
mod letters;
mod outbox;
mod reading;
mod repeating;
mod saving;
mod settings;
mod starting;
mod state;
mod status;
mod task;
mod timers;

pub(crate) use letters::{Command, Unknown};
pub use settings::Settings;
pub(crate) use starting::Given;
pub(crate) use state::StateFile;
pub use state::UnusableFile;
pub(crate) use status::Board;
pub use status::{DeadLetter, RemovedSink, SinkStatus};
pub(crate) use task::SinkTask;
