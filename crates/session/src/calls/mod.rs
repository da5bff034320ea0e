//! Calls: their phases, their deliveries, and what remains of them after the end.
//!
//! This module does not know the session around a call, nor the rules that move a call. Read
//! `call`, `leave` and `claim`, then `open_calls` and `deliveries`. `requests` and `settled` hold
//! the short entries that remain. Later calls depend on `keys`, `reusable`, `repeatable` and
//! `uses`, which the reducers of those subjects write.

pub(super) mod agent_run;
pub(super) mod call;
pub(super) mod claim;
pub(super) mod deliveries;
pub(super) mod keys;
pub(super) mod leave;
pub(super) mod open_calls;
pub(super) mod refusal_kinds;
pub(super) mod repeatable;
pub(super) mod requests;
pub(super) mod reusable;
pub(super) mod settled;
pub(super) mod uses;
