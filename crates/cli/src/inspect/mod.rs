//! The commands that read sessions. None of them writes to a journal.
//!
//! They decide nothing and answer nothing; `telling` has the sentences.
//!
//! Read `sessions`, `log` and `state` first. `show` prints the object of a hash, `diff` compares
//! two sessions, with `differences` for its output. `replay` is a room of its own.

mod diff;
mod differences;
mod log;
mod replay;
mod sessions;
mod show;
mod state;

pub(crate) use diff::Diff;
pub(crate) use differences::show as show_differences;
pub(crate) use log::Log;
pub(crate) use replay::Replay;
pub(crate) use sessions::Sessions;
pub(crate) use show::Show;
pub(crate) use state::State;
