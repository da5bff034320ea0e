//! Standing leaves, read from the records one by one: a second implementation of their rules.

use std::collections::{BTreeMap, BTreeSet};

use recount_session::catalog::contract_hash;
use recount_session::testing::Toolbox;
use recount_session::{
    About, ActedAs, AllowFor, ApprovalGiven, ConfirmationAnswered, Decision, Event, Fact,
    LeaveUsed, ObjectHash, Observation, Seq, Timestamp,
};

use super::Verdict;
use super::leave::Runs;
use super::quorum::Approvals;
use super::recording::Recording;

/// A leave on record.
struct Given {
    tool: String,
    contract: ObjectHash,
    policy: String,
    bound: AllowFor,
    used: u32,
    ended: bool,
}

impl Given {
    fn in_time(&self, now: Timestamp) -> bool {
        !self.ended && !matches!(self.bound, AllowFor::Until(until) if now >= until)
    }

    fn allows_more(&self, now: Timestamp) -> bool {
        self.in_time(now) && !matches!(self.bound, AllowFor::Count(count) if self.used >= count)
    }
}

/// An open gate request: its call and contract, and the bounds of the approvals so far.
struct Question {
    call: Seq,
    contract: ObjectHash,
    bounds: Vec<Option<AllowFor>>,
}

impl Question {
    fn of(call: Seq, contract: ObjectHash) -> Question {
        let bounds = Vec::new();
        Question {
            call,
            contract,
            bounds,
        }
    }

    /// The least bound of all approvals, if each has one of the same kind.
    fn least(&self, last: Option<AllowFor>) -> Option<AllowFor> {
        let bounds: Option<Vec<AllowFor>> = self.bounds.iter().copied().chain([last]).collect();
        let bounds = bounds?;
        let counts = bounds.iter().map(|it| match it {
            AllowFor::Count(count) => Some(*count),
            AllowFor::Until(_) => None,
        });
        let times = bounds.iter().map(|it| match it {
            AllowFor::Until(until) => Some(*until),
            AllowFor::Count(_) => None,
        });
        let count = counts
            .collect::<Option<Vec<_>>>()
            .and_then(|it| it.into_iter().min());
        let until = times
            .collect::<Option<Vec<_>>>()
            .and_then(|it| it.into_iter().min());
        count.map(AllowFor::Count).or(until.map(AllowFor::Until))
    }
}

/// The leaves of a history so far, the calls that they allowed, and the open gate requests.
#[derive(Default)]
pub(crate) struct Leaves<'r> {
    given: BTreeMap<Seq, Given>,
    allowed: BTreeMap<Seq, Seq>,
    questions: BTreeMap<Seq, Question>,
    approvals: Approvals,
    starts: BTreeMap<Seq, u32>,
    runs: Runs,
    tools: Option<&'r Toolbox>,
}

impl<'r> Leaves<'r> {
    /// Reads the next record. Returns an error if a leave allows what it must not, or if an
    /// approver is asked about a call that a leave allows.
    pub(crate) fn read(&mut self, recording: &'r Recording, fact: &Fact) -> Verdict {
        for it in self.runs.read(fact) {
            *self.starts.entry(it.call).or_default() -= 1;
        }
        let in_force = recording.takes_terms(fact);
        if let Some(tools) = recording.tools.get(&fact.seq).filter(|_| in_force) {
            self.tools = Some(tools);
            self.end_changed();
        }
        let decides = self.approvals.read(fact);
        match &fact.event {
            Event::Observed(Observation::ConfirmationAnswered(it)) => {
                self.answered(recording, fact, it, decides.is_some());
            }
            Event::Observed(Observation::ApprovalGiven(it)) => {
                self.answered(recording, fact, &as_answer(it), decides.is_some());
            }
            Event::Observed(Observation::LeaveRevoked(it)) => {
                if let Some(leave) = self.given.get_mut(&it.leave) {
                    leave.ended = true;
                }
            }
            Event::Decided(Decision::LeaveUsed(it)) => self.used(recording, fact, it)?,
            Event::Decided(Decision::CallStarted(it)) => {
                *self.starts.entry(it.call).or_default() += 1;
            }
            Event::Decided(Decision::ConfirmationRequested(it)) if it.about == About::Gate => {
                if let Some(leave) = self.first_for(recording, it.call, fact.at) {
                    return Err(format!("{} asks although {leave} allows it", fact.seq));
                }
                self.questions
                    .insert(fact.seq, Question::of(it.call, it.contract));
            }
            Event::Decided(Decision::ConfirmationReopened(it)) => {
                self.questions.remove(&it.request);
                if it.question.about == About::Gate {
                    let asked = Question::of(it.question.call, it.question.contract);
                    self.questions.insert(fact.seq, asked);
                }
            }
            Event::Decided(Decision::ConfirmationExpired(it)) => {
                self.questions.remove(&it.request);
            }
            Event::Decided(Decision::ConfirmationWithdrawn(it)) => {
                self.questions.remove(&it.request);
            }
            Event::Observed(_) | Event::Decided(_) => {}
        }
        Ok(())
    }

    /// Reads an answer. One that does not decide may be an approval that counts.
    fn answered(
        &mut self,
        recording: &Recording,
        fact: &Fact,
        it: &ConfirmationAnswered,
        decides: bool,
    ) {
        if !decides {
            let given = self.approvals.given(it.request);
            if let Some(question) = self.questions.get_mut(&it.request)
                && question.bounds.len() < given
            {
                question.bounds.push(it.allow_for);
            }
            return;
        }
        let Some(asked) = self.questions.remove(&it.request) else {
            return;
        };
        if matches!(it.by.acted_as, Some(ActedAs::Program(_))) {
            return;
        }
        let name = name_of(recording, asked.call);
        let bound = asked.least(it.allow_for);
        let (Some(bound), Some((contract, policy, permits))) = (bound, self.terms(&name)) else {
            return;
        };
        if bound.unfit_at(fact.at).is_some() {
            return;
        }
        if it.confirmed && it.edited_args.is_none() && permits && contract == asked.contract {
            let leave = Given {
                tool: name,
                contract,
                policy,
                bound,
                used: 0,
                ended: false,
            };
            self.given.insert(fact.seq, leave);
        }
    }

    fn used(&mut self, recording: &Recording, fact: &Fact, it: &LeaveUsed) -> Verdict {
        if self.first_for(recording, it.call, fact.at) != Some(it.leave) {
            return Err(format!("{} uses a leave that does not allow it", fact.seq));
        }
        let leave = self.given.get_mut(&it.leave);
        let leave = leave.ok_or("a leave that was never given")?;
        leave.used += 1;
        let bound = match leave.bound {
            AllowFor::Count(count) => (Some(count), None),
            AllowFor::Until(until) => (None, Some(until)),
        };
        if (it.nth, it.count, it.until_us) != (leave.used, bound.0, bound.1) {
            return Err(format!("{} counts its uses wrongly", fact.seq));
        }
        self.allowed.insert(it.call, it.leave);
        Ok(())
    }

    /// The oldest leave that allows this call now.
    fn first_for(&self, recording: &Recording, call: Seq, now: Timestamp) -> Option<Seq> {
        let name = name_of(recording, call);
        let (contract, ..) = self.terms(&name)?;
        let started = self.starts.get(&call).is_some_and(|starts| *starts > 0);
        let allows = |(given, leave): &(&Seq, &Given)| {
            let same = leave.tool == name && leave.contract == contract;
            same && **given < call && !started && leave.allows_more(now)
        };
        Some(*self.given.iter().find(allows)?.0)
    }

    /// The contract and the policy of a declared tool, and whether the policy permits leaves.
    fn terms(&self, name: &str) -> Option<(ObjectHash, String, bool)> {
        let tools = self.tools?;
        let policy = tools.policies().of(name);
        let contract = contract_hash(tools.catalog().get(name)?, policy);
        let terms = &policy.gate_terms;
        let permits = policy.confirm && terms.may_allow_for_session && terms.payload.is_none();
        Some((contract, serde_json::to_string(policy).ok()?, permits))
    }

    fn end_changed(&mut self) {
        let mut given = std::mem::take(&mut self.given);
        for leave in given.values_mut() {
            if let Some((contract, policy, _)) = self.terms(&leave.tool) {
                leave.ended |= contract != leave.contract || policy != leave.policy;
            }
        }
        self.given = given;
    }

    /// True if a leave allowed the call and still permits its start. An agent that continues keeps
    /// the permission of its first start while its contract is the same.
    pub(crate) fn permits(&self, call: Seq, contract: ObjectHash, now: Timestamp) -> bool {
        let leave = self.allowed.get(&call).and_then(|it| self.given.get(it));
        let continues = self.starts.get(&call).is_some_and(|starts| *starts > 1);
        leave.is_some_and(|it| it.contract == contract && (it.in_time(now) || continues))
    }

    /// The leaves that allow a further call now.
    pub(crate) fn in_force(&self, now: Timestamp) -> BTreeSet<Seq> {
        let more = self.given.iter().filter(|(_, it)| it.allows_more(now));
        more.map(|(given, _)| *given).collect()
    }
}

fn as_answer(it: &ApprovalGiven) -> ConfirmationAnswered {
    ConfirmationAnswered {
        request: it.request,
        confirmed: true,
        reason: it.reason.clone(),
        payload: it.payload.clone(),
        edited_args: it.edited_args.clone(),
        extra: it.extra.clone(),
        found: None,
        allow_for: it.allow_for,
        by: it.by.clone(),
    }
}

fn name_of(recording: &Recording, call: Seq) -> String {
    let calls = recording.calls();
    let name = calls.get(&call).and_then(|it| it.name.clone());
    name.unwrap_or_default()
}
