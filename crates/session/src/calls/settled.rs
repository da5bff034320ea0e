//! The lines that remain of calls that have ended.

use serde::{Deserialize, Serialize};

use crate::record::finding::FoundAs;
use crate::values::actor::Actor;
use crate::values::endings::Outcome;
use crate::values::id::Seq;
use crate::values::object::ObjectHash;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// How.
    pub outcome: Outcome,
    /// How often its tool was started.
    pub attempts: u32,
    /// The record that ended it: `response_issued` or `call_cancelled`.
    pub at: Seq,
    /// A program or an agent made the call, and no connection brought it.
    pub made_by_program: bool,
}

/// The result of a paused call, as somebody outside gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Supplied {
    /// The `response_supplied` record.
    pub at: Seq,
    /// SHA-256 of the response as it stands there.
    pub response: ObjectHash,
    /// Who gave it.
    pub by: Actor,
}

/// What was found out about a call whose outcome was unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reconciled {
    /// The `outcome_found` record.
    pub at: Seq,
    /// Whether it took effect.
    pub found: FoundAs,
    /// Who found out.
    pub by: Actor,
}

/// What was found out and is to be told at the next decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToReconcile {
    pub(crate) call: Seq,
    /// The `outcome_found`.
    pub(crate) of: Seq,
    pub(crate) tool: String,
    /// Why it failed, if it did.
    pub(crate) failed: Option<String>,
}
