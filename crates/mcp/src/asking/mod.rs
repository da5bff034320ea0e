//! Messages of a server during a call: questions to a person, and progress reports.
//!
//! These modules know no connection and no result. Read `asker`, then `progress`.

pub(super) mod asker;
mod progress;
