//! The tasks of a service behind its journal, beside notifications: `traces` exports spans,
//! `checkpoints` signs the tree, `clock` puts the machine's clocks on record, and `reads` who
//! reads sessions. None of them delays a session. `state_lock` keeps a second service from their
//! files.

pub(super) mod checkpoints;
pub(super) mod clock;
pub(super) mod reads;
pub(super) mod state_lock;
#[cfg(feature = "otel")]
pub(super) mod traces;
#[cfg(not(feature = "otel"))]
#[path = "no_traces.rs"]
pub(super) mod traces;
