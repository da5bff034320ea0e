//! This node: its `lease`, the mark of its `key_store`, and the `supervision` of its server.

mod key_store;
mod lease;
mod supervision;

pub(crate) use key_store::key_mark;
pub(crate) use lease::{Lease, applied, behind, release};
