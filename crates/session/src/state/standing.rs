//! Standing leaves: answers that allow later calls of a tool in their session.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::session::Session;
use super::terms::Terms;
use crate::calls::call::{Call, Phase};
use crate::policies::policy::ToolPolicy;
use crate::record::approvals::needs::{Barred, Needs};
use crate::record::approvals::standing::AllowFor;
use crate::record::decision::About;
use crate::values::actor::Actor;
use crate::values::id::Seq;
use crate::values::object::{ObjectHash, object_bytes};
use crate::values::time::Timestamp;

/// An answer that allows later calls of its tool, up to a time or a number of calls.
///
/// It is bound to the session, the tool, the tool's contract and the tool's policy. It allows only
/// calls that were received after the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingLeave {
    /// The tool.
    pub tool: String,
    /// The request that was answered.
    pub request: Seq,
    /// The contract of the tool that was approved.
    pub contract: ObjectHash,
    /// The hash of the tool's policy at the time of the answer.
    pub policy: ObjectHash,
    /// The time or the number of calls up to which it allows.
    pub allow_for: AllowFor,
    /// The number of calls that it has allowed.
    pub used: u32,
    /// The approvers that gave it.
    pub by: Vec<Actor>,
    /// The terms of the request that was answered. The people who could give the leave may revoke
    /// it.
    pub needs: Option<Box<Needs>>,
    /// The time of the answer.
    pub since: Timestamp,
    /// The end before its bound, if it was revoked or the tool changed.
    pub ended: Option<LeaveEnd>,
}

/// The end of a standing leave before its bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaveEnd {
    /// An actor revoked it.
    Revoked {
        /// The `leave_revoked` record.
        at: Seq,
        /// The actor.
        by: Actor,
    },
    /// The tool's contract or policy changed.
    Changed {
        /// The record with the new declarations.
        at: Seq,
    },
}

impl StandingLeave {
    /// The time at which the leave ends, if it is bound to a time.
    #[must_use]
    pub fn ends_at(&self) -> Option<Timestamp> {
        match self.allow_for {
            AllowFor::Until(until) => Some(until),
            AllowFor::Count(_) => None,
        }
    }

    /// Checks that the actor could have given the leave, so that it may also revoke it.
    ///
    /// # Errors
    /// [`Barred`] with the reason.
    pub fn admits(&self, by: &Actor) -> Result<(), Barred> {
        match &self.needs {
            _ if by.is_program() => Err(Barred::Automatic),
            Some(needs) => needs.admit(by, false).map(|_| ()),
            None => Ok(()),
        }
    }

    /// True if the leave allows a further call at this time.
    #[must_use]
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        self.holds(now)
            && match self.allow_for {
                AllowFor::Count(count) => self.used < count,
                AllowFor::Until(_) => true,
            }
    }

    /// True if a call that the leave has allowed may still start at this time.
    pub(crate) fn holds(&self, now: Timestamp) -> bool {
        let in_time = match self.allow_for {
            AllowFor::Count(_) => true,
            AllowFor::Until(until) => now < until,
        };
        in_time && self.ended.is_none()
    }

    /// True if the leave, given at `given`, allows this call at this time.
    pub(crate) fn covers(&self, given: Seq, seq: Seq, call: &Call, now: Timestamp) -> bool {
        // A call that was started may have run, and a leave allows no second run.
        let first = call.attempts == 0;
        self.tool == call.name && given < seq && first && self.is_in_force(now)
    }

    /// Ends the leave if the tool is declared with another contract or policy.
    ///
    /// A tool that is not declared cannot run, so its leave stays as it is until the tool is
    /// declared again.
    pub(crate) fn end_if_changed(&mut self, terms: &Terms, at: Seq) {
        let Some(contract) = terms.contract(&self.tool).filter(|_| self.ended.is_none()) else {
            return;
        };
        let policy = policy_hash(terms.policies.of(&self.tool));
        if contract != self.contract || policy != self.policy {
            self.ended = Some(LeaveEnd::Changed { at });
        }
    }
}

/// True if an answer about this call may give a leave: its gate asks, and the policy permits it.
///
/// A gate that asks for a payload gives none, because later calls would have no payload.
pub(crate) fn permits(session: &Session, call: &Call) -> bool {
    let about_gate = matches!(
        call.phase,
        Phase::AwaitingConfirmation {
            about: About::Gate,
            ..
        }
    );
    about_gate && permits_leave(session.terms.policies.of(&call.name))
}

/// True if the policy lets an approval of its gate allow later calls.
pub(crate) fn permits_leave(policy: &ToolPolicy) -> bool {
    let terms = &policy.gate_terms;
    policy.confirm && terms.may_allow_for_session && terms.payload.is_none()
}

/// The hash of a tool's policy.
pub(crate) fn policy_hash(policy: &ToolPolicy) -> ObjectHash {
    ObjectHash::of(&object_bytes(policy))
}

impl fmt::Display for LeaveEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeaveEnd::Revoked { at, by } => {
                write!(f, "it was revoked by {} before, at seq {at}", by.in_short())
            }
            LeaveEnd::Changed { at } => {
                write!(
                    f,
                    "it ended at seq {at}, because the tool or its policy changed"
                )
            }
        }
    }
}
