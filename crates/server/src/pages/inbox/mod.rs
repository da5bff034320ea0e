//! The inbox: what waits for an answer, over all sessions that the person may read.
//!
//! Read `waiting` first, the values and their order; then `chosen`, the filters of the address,
//! and `show`, the page.

mod chosen;
mod show;
mod waiting;

pub(crate) use show::{root, show};
pub(crate) use waiting::{is_mine, is_open};
