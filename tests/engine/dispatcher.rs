//! Tools without an engine: a dispatcher alone.

mod calls;
mod context;
