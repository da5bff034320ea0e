//! Tests of the whole page, over recorded histories of each kind.

mod calls;
mod changes;
mod frame;
mod kit;
