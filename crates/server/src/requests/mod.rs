//! The parts of a request: its body, ids, parameters, cursor and idempotency key.
//!
//! All of it is read strictly: an unknown key or parameter is refused, so that a misspelt condition
//! is not ignored. Read `body`, then `params`; `idempotency` is a middleware,
//! except for calls, whose keys are on record. `rest` is another one, for bodies that no handler
//! reads. `waiting` has the time that a request waits.

mod body;
mod cursor;
mod idempotency;
mod ids;
mod params;
mod rest;
mod waiting;

pub(crate) use body::{BODY_BYTES_MAX, BODY_TIME_MAX, BodyTime, Strict, StrictOrEmpty, bytes};
pub(crate) use cursor::Cursor;
pub(crate) use idempotency::{
    Answers, CallKey, REPLAYED, Repeatable, RepeatableKey, other_body, run_once,
};
pub(crate) use ids::{CallName, InPath, call, message, request, seq, session};
pub(crate) use params::Params;
pub(crate) use rest::finish_body;
pub(crate) use waiting::{Preferred, wait_of};
