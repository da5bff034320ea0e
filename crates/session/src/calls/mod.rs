//! Calls: where each one stands, what is on its way for it, and what remains of it.
//!
//! It knows no session around a call, and no rule by which one moves. Read `call`, then
//! `open_calls` and `deliveries`. `requests` and `settled` are the lines that remain; `reusable`,
//! `repeatable` and `uses` are what later calls depend on, and the reducers of those subjects write
//! them.

pub(super) mod agent_run;
pub(super) mod call;
pub(super) mod deliveries;
pub(super) mod open_calls;
pub(super) mod refusal_kinds;
pub(super) mod repeatable;
pub(super) mod requests;
pub(super) mod reusable;
pub(super) mod settled;
pub(super) mod uses;
