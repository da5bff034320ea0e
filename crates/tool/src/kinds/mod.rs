//! Kinds of tools: function, closure, streaming tool, input streaming tool, long-running tool, and
//! the tool that clients run.
//!
//! These modules apply no policy; a function may declare its own gate. Read `function`.

pub(super) mod client_tool;
pub(super) mod function;
pub(super) mod input_streaming_tool;
pub(super) mod long_running;
pub(super) mod simple;
pub(super) mod streaming_tool;
pub(super) mod typed_tool;
pub(super) mod yielding;
