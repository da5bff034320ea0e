//! The parts of a request: its body, ids, parameters, cursor and idempotency key.
//!
//! All of it is read strictly: an unknown key or parameter is refused, so that a misspelt condition
//! is not ignored. Read `body`, then `params`; `idempotency` is a middleware.

mod body;
mod cursor;
mod idempotency;
mod ids;
mod params;

pub(crate) use body::{BODY_BYTES_MAX, Strict, StrictOrEmpty};
pub(crate) use cursor::Cursor;
pub(crate) use idempotency::{Answers, run_once};
pub(crate) use ids::{CallName, InPath, call, request, seq, session};
pub(crate) use params::Params;
