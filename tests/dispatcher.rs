//! Tools without an engine: a dispatcher alone.

#[path = "dispatcher/calls.rs"]
mod calls;
#[path = "dispatcher/context.rs"]
mod context;
