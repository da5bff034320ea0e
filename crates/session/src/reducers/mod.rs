//! The topics of the session, one a file: what each folds, decides and owes.
//!
//! No topic reads a clock, and none knows who performs what it owes.

pub(super) mod acknowledgement;
pub(super) mod agents;
pub(super) mod cache;
pub(super) mod cancellation;
pub(super) mod closing;
pub(super) mod confirmation;
pub(super) mod conversation;
pub(super) mod dispatcher;
pub(super) mod hooks;
pub(super) mod in_place;
pub(super) mod limits;
pub(super) mod phases;
pub(super) mod progress;
pub(super) mod reconciliation;
pub(super) mod redelivery;
pub(super) mod repeats;
pub(super) mod scheduling;
pub(super) mod state;
pub(super) mod tracker;
pub(super) mod verdict_inputs;
