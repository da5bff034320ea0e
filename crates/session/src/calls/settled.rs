//! The short entries that remain of ended calls.

use serde::{Deserialize, Serialize};

use crate::record::finding::FoundAs;
use crate::values::actor::Actor;
use crate::values::endings::Outcome;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// The end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The outcome.
    pub outcome: Outcome,
    /// The number of starts of the tool.
    pub attempts: u32,
    /// The record that ended the call: `response_issued` or `call_cancelled`.
    pub at: Seq,
    /// True if a program or an agent made the call, so that no connection delivered it.
    pub made_by_program: bool,
}

/// The result of a paused call that came from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Supplied {
    /// The `response_supplied` record.
    pub at: Seq,
    /// The SHA-256 of the response as recorded.
    pub response: ObjectHash,
    /// The actor who supplied the result.
    pub by: Actor,
}

/// The outcome of a call, found after the call had ended with an unknown outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconciled {
    /// The `outcome_found` record.
    pub at: Seq,
    /// The outcome that was found.
    pub found: FoundAs,
    /// The actor who found the outcome.
    pub by: Actor,
}

/// A reconciled outcome that the next decision reports to the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToReconcile {
    pub(crate) call: Seq,
    /// The `outcome_found` record.
    pub(crate) of: Seq,
    pub(crate) tool: String,
    /// The reason for the failure, if the call failed.
    pub(crate) failed: Option<String>,
}
