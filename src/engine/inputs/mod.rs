//! The inputs of a session's task, and the registry of tasks.
//!
//! It knows the values of an input, but not what the task does with them. Read `inbox`, then
//! `registry`. `relay` has a connection that another program owns, `alarm` the due times of
//! sessions without a task, `left_open` what their tasks could not do, `back_off` the waits after
//! tasks that failed, and `offers` the calls that clients may claim.

pub(super) mod alarm;
pub(in crate::engine) mod asking;
pub(super) mod back_off;
pub(super) mod callers;
pub(super) mod inbox;
pub(super) mod left_open;
pub(in crate::engine) mod offers;
pub(in crate::engine) mod registry;
pub(in crate::engine) mod relay;
