//! The commands that look at sessions; none of them writes to a journal.
//!
//! Read `sessions`, `log` and `state` first. `show` prints what a hash names, `diff` compares two
//! sessions. `replay` decides a session again, `divergence` puts a difference into words, `what_if`
//! replays under other policies, and `unread` collects the sessions that could not be read.

pub(super) mod diff;
mod divergence;
pub(super) mod log;
pub(super) mod replay;
pub(super) mod sessions;
pub(super) mod show;
pub(super) mod state;
mod unread;
mod what_if;
