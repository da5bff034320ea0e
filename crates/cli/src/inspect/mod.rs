//! The commands that look at sessions; none of them writes to a journal.
//!
//! They decide nothing and answer nothing; `telling` has the words.
//!
//! Read `sessions`, `log` and `state` first. `show` prints what a hash names, `diff` compares two
//! sessions, with `differences` for the words. `replay` is a room of its own.

mod diff;
mod differences;
mod log;
mod replay;
mod sessions;
mod show;
mod state;

pub(crate) use diff::Diff;
pub(crate) use log::Log;
pub(crate) use replay::Replay;
pub(crate) use sessions::Sessions;
pub(crate) use show::Show;
pub(crate) use state::State;
