//! This node: its `lease`, and the `supervision` of what it knows about its server.

mod lease;
mod supervision;

pub(crate) use lease::{Lease, applied, behind, release};
