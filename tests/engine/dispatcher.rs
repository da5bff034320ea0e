//! A dispatcher without an engine.

mod calls;
mod context;
