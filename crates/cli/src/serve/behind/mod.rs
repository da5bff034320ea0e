//! The tasks of a service behind its journal, beside notifications: `traces` exports spans,
//! `checkpoints` signs the tree, `clock` puts the machine's clocks on record, and `reads` who
//! reads sessions. None of them delays a session.

pub(super) mod checkpoints;
pub(super) mod clock;
pub(super) mod reads;
#[cfg(feature = "otel")]
pub(super) mod traces;
#[cfg(not(feature = "otel"))]
#[path = "no_traces.rs"]
pub(super) mod traces;
