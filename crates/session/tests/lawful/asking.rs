//! The limits of asking: open requests, and approvals per person and minute.

use std::collections::BTreeMap;

use recount_session::{
    About, Actor, Authentication, Decision, Fact, Observation, Outcome, Seq, Timestamp,
    ToolConfirmation,
};

use super::Verdict;
use super::quorum::{Approvals, person};
use super::recording::{Recording, decided, observed};

/// The open requests, read from the records one by one.
#[derive(Default)]
pub(crate) struct OpenRequests {
    open: BTreeMap<Seq, Seq>,
    approvals: Approvals,
    asked: std::collections::BTreeSet<Seq>,
}

impl OpenRequests {
    /// Reads the next record.
    pub(crate) fn read(&mut self, fact: &Fact) {
        // An answer that may not decide leaves its request open.
        if let Some(it) = self.approvals.read(fact) {
            self.open.remove(&it.request);
        }
        match decided(fact) {
            Some(Decision::ConfirmationRequested(it)) => self.asked(fact.seq, it.call),
            Some(Decision::ConfirmationReopened(it)) => {
                self.open.remove(&it.request);
                self.asked(fact.seq, it.question.call);
            }
            Some(Decision::ConfirmationExpired(it)) => _ = self.open.remove(&it.request),
            Some(Decision::ConfirmationWithdrawn(it)) => _ = self.open.remove(&it.request),
            Some(Decision::ResponseIssued(it)) if it.outcome != Outcome::Interim => {
                self.open.retain(|_, call| *call != it.call);
            }
            Some(Decision::CallCancelled(it)) => self.open.retain(|_, call| *call != it.call),
            _ => {}
        }
    }

    fn asked(&mut self, request: Seq, call: Seq) {
        self.open.insert(request, call);
        self.asked.insert(call);
    }

    /// True if there was a request about the call.
    pub(crate) fn was_asked(&self, call: Seq) -> bool {
        self.asked.contains(&call)
    }

    /// Returns the number of open requests: of the session, and about calls of the tool.
    pub(crate) fn count(&self, recording: &Recording, tool: &str) -> (usize, usize) {
        let calls = recording.calls();
        let of_tool = self.open.values();
        let of_tool = of_tool.filter(|call| calls[call].name.as_deref() == Some(tool));
        (self.open.len(), of_tool.count())
    }
}

/// No call is asked about for the first time while the current limits of open requests are reached.
pub(crate) fn open_requests_stay_within_the_limit(recording: &Recording) -> Verdict {
    let mut requests = OpenRequests::default();
    for (index, fact) in recording.facts.iter().enumerate() {
        if let Some(Decision::ConfirmationRequested(it)) = decided(fact)
            && it.about == About::Gate
            && !requests.was_asked(it.call)
            && let Some(tools) = recording.tools_at(index)
        {
            let calls = recording.calls();
            let name = calls[&it.call].name.as_deref().unwrap_or_default();
            let (session, tool) = requests.count(recording, name);
            let within = |max: Option<u32>, open| max.is_none_or(|max| open < max as usize);
            let of_tool = tools.policies().of(name).gate_terms.max_open_requests;
            let of_session = tools.policies().max_open_requests;
            if !within(of_session, session) || !within(of_tool, tool) {
                return Err(format!(
                    "{} asks beside {session} requests, {tool} of the tool; \
                     {of_session:?} and {of_tool:?} may be open",
                    fact.seq
                ));
            }
        }
        requests.read(fact);
    }
    Ok(())
}

/// No person gives more approvals in any minute than the limit in force.
pub(crate) fn approvals_stay_within_the_limit(recording: &Recording) -> Verdict {
    for (index, fact) in recording.facts.iter().enumerate() {
        let by = match observed(fact) {
            Some(Observation::ConfirmationAnswered(it)) if it.confirmed => &it.by,
            Some(Observation::ApprovalGiven(it)) => &it.by,
            _ => continue,
        };
        if let Some(max) = used_up(recording, index, by, fact.at) {
            return Err(format!("{} is approval {max} and more by {by}", fact.seq));
        }
    }
    Ok(())
}

/// Returns the limit in force after this many facts if the actor has reached it at `now`.
pub(crate) fn used_up(
    recording: &Recording,
    facts: usize,
    by: &Actor,
    now: Timestamp,
) -> Option<u32> {
    let limit = |index| recording.tools_at(index)?.policies().answers_per_minute;
    let max = limit(facts)?;
    let last = recording.facts[..facts].last()?.at;
    let now = now.max(last);
    let before = recording.facts[..facts].iter().enumerate();
    let mut approvals = Approvals::default();
    let given = before.filter(|(index, fact)| {
        let Some(approver) = approvals.approver(fact) else {
            return false;
        };
        // An approval from before the limit was declared does not count.
        let recent = now.0 - fact.at.0 < 60_000_000 && limit(*index).is_some();
        recent && are_one(approver, by)
    });
    (given.count() >= max as usize).then_some(max)
}

/// Returns the rejected answer's limit, if its actor has given as many approvals as allowed.
pub(crate) fn too_many(
    recording: &Recording,
    facts: usize,
    answer: &ToolConfirmation,
    by: &Actor,
    now: Timestamp,
) -> Option<u32> {
    used_up(recording, facts, by, now).filter(|_| answer.confirmed)
}

/// True if the approvals of both actors count together: they are one person, one program, or both
/// without a verified name.
fn are_one(one: &Actor, other: &Actor) -> bool {
    match (person(one), person(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => {
            let is_program =
                |it: &Actor| it.is_program() && it.authenticated_by != Authentication::None;
            one == other || !is_program(one) && !is_program(other)
        }
        (Some(_), None) | (None, Some(_)) => false,
    }
}
