//! The input and the outcome of one run of a tool.
//!
//! This module knows neither the registry nor the caller. Read `context`, then `outcome` and
//! `error`.

pub(super) mod context;
pub(super) mod error;
pub(super) mod input;
pub(super) mod listeners;
pub(super) mod outcome;
pub(super) mod result_formatter;
pub(super) mod services;
pub(super) mod state;
pub(super) mod state_watch;
pub(super) mod ticket;
pub(super) mod tool_event;
