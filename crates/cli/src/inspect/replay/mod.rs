//! `recount replay`: every decision follows again from the record, or the first that does not.
//!
//! The library's `replay` decides; this room puts its reports into words. No tool runs.
//!
//! Read `command` first, then `divergence`, the words for a difference. `what_if` is the replay
//! under other policies, with `what_if_call`, one call, and `what_if_totals`. `unread` collects
//! the sessions that could not be read.

mod command;
mod divergence;
mod unread;
mod what_if;
mod what_if_call;
mod what_if_totals;

pub(crate) use command::Replay;
