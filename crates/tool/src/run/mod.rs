//! What one run of a tool is given, and what it gives back.
//!
//! It knows neither the registry nor who called. Read `context`, then `outcome` and `error`.

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
