//! `recount replay`: every decision is made again, and the first different one is shown.
//!
//! The library's `replay` decides; this room shows its reports. No tool runs.
//!
//! Read `command` first, then `divergence`, the output for a difference. `what_if` is the replay
//! with other policies, with `what_if_call`, one call, and `what_if_totals`. `unread` collects the
//! sessions that could not be read.

mod command;
mod divergence;
mod unread;
mod what_if;
mod what_if_call;
mod what_if_totals;

pub(crate) use command::Replay;
