//! The terms of a request: who may answer it, and the approvals that were given so far.
//!
//! ```text
//! confirmation_requested { needs } ─┬─ approval_given … approval_given ─ confirmation_answered yes
//!                                   ├─ confirmation_answered no, by one who may answer
//!                                   ├─ an answer by another: answer_refused, and it stays open
//!                                   └─ confirmation_reopened: the approvals are void
//! ```
//!
//! The terms are those of the policy in force when the request is made. They are part of the
//! contract, so other terms replace the request. A call in doubt has the same terms, because a yes
//! runs its tool again.

use std::num::NonZeroU32;

use super::gate;
use crate::admission::approving::{Weight, weight};
use crate::calls::call::Call;
use crate::calls::requests::{Approval, Asking, Request, RequestState};
use crate::record::approvals::approval::ApprovalGiven;
use crate::record::approvals::needs::{Needs, Requester};
use crate::record::decision::{About, ConfirmationRequested};
use crate::record::observation::ConfirmationAnswered;
use crate::state::session::Session;
use crate::values::id::Seq;

/// The terms of a request about the call, if the tool's policy has any.
pub(crate) fn needs(session: &Session, call: &Call, about: About) -> Option<Box<Needs>> {
    let policy = session.terms.policies.of(&call.name);
    let terms = &policy.gate_terms;
    let applies = match about {
        About::Gate | About::InDoubt => policy.confirm,
        About::Tool => policy.confirm && is_only_leave(session, call),
    };
    if !applies || !terms.restrict_answers() {
        return None;
    }
    let requester = || {
        let of_session = session.on_behalf_of.as_deref().map(Requester::named);
        call.requester.as_ref().map(Requester::of).or(of_session)
    };
    Some(Box::new(Needs {
        approvers: terms.approvers.clone(),
        not_requester: terms.not_requester,
        requester: terms.not_requester.then(requester).flatten(),
        quorum: terms
            .quorum
            .map(|it| NonZeroU32::new(it).unwrap_or(NonZeroU32::MIN)),
    }))
}

/// True if the answer to the tool's own question is the only leave of the call.
///
/// The question itself has no terms, because it may be to the requester. But if the contract has
/// changed since the gate was passed, no other answer approves the call under the new contract.
fn is_only_leave(session: &Session, call: &Call) -> bool {
    let passed = call.gate_passed.is_some() && call.contract == session.terms.contract(&call.name);
    let starts_again = call.in_place().is_none();
    starts_again && !passed && gate::gated(session, call)
}

/// True if the call's leave is an answer to the tool's own question, and its gate has terms that no
/// answer met.
///
/// The state may have changed since the question, so that the gate holds by now.
pub(crate) fn lacks_gate_answer(session: &Session, call: &Call, leave: Seq) -> bool {
    let own = call.asked.as_ref().and_then(|own| own.answered);
    let terms = &session.terms.policies.of(&call.name).gate_terms;
    own == Some(leave) && terms.restrict_answers() && is_only_leave(session, call)
}

/// Folds a yes to a request that needs more of them. It never decides.
pub(crate) fn approval_given(session: &mut Session, at: Seq, it: &ApprovalGiven) {
    let request = session.requests.get_mut(&it.request);
    if request.is_some_and(|request| request.count(at, it)) {
        session.note_approval(&it.by);
    }
}

impl Request {
    /// The entry of a new request, without approvals.
    #[doc(hidden)]
    #[must_use]
    pub fn asked(it: &ConfirmationRequested) -> Request {
        let asking = it.needs.as_ref().map(|needs| Asking {
            needs: needs.as_ref().clone(),
            given: Vec::new(),
        });
        Request {
            call: it.call,
            state: RequestState::Open,
            refused: 0,
            asking: asking.map(Box::new),
        }
    }

    /// True if an answer to the open request decides it.
    ///
    /// Admission refuses an answer by an actor that may not give it. A history that contains one
    /// all the same leaves the request open.
    #[doc(hidden)]
    #[must_use]
    pub fn is_decided_by(&self, it: &ConfirmationAnswered) -> bool {
        weight(self.asking.as_deref(), it) == Ok(Weight::Decides)
    }

    /// Adds a recorded approval, if it counts without deciding. Returns true if it does.
    #[doc(hidden)]
    pub fn count(&mut self, at: Seq, it: &ApprovalGiven) -> bool {
        let Some(asking) = self.asking.as_deref_mut() else {
            return false;
        };
        let counts = weight(Some(asking), &it.as_answer()) == Ok(Weight::Counts);
        if counts {
            asking.given.push(Approval {
                at,
                by: it.by.clone(),
                args: it.edited_args.clone(),
                payload: it.payload.clone(),
                allow_for: it.allow_for,
            });
        }
        counts
    }
}

#[cfg(test)]
#[path = "approvers_tests.rs"]
#[expect(clippy::indexing_slicing, reason = "a test may fail")]
mod tests;
