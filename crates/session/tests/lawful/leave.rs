//! Laws 3 and 4: no run without approval, and no second run with the same approval.

use std::collections::{BTreeMap, BTreeSet};

use recount_session::catalog::{ToolKind, contract_hash};
use recount_session::{
    About, Deadline, Decision, Edits, Event, Fact, InDoubt, Json, Needs, ObjectHash, Observation,
    Outcome, Seq, Start, ToolPolicy, Verdict as Says,
};

use super::Verdict;
use super::agents::Asked;
use super::claims::{Claims, How};
use super::gate_verdicts::GateVerdicts;
use super::in_place::Waits;
use super::quorum::Approvals;
use super::recording::{Recording, decided, observed};
use super::standing::Leaves;
use super::unanswered::Unanswered;

/// A call of a gated tool starts only after an approval, after its gate was waived, or by a
/// standing leave on record, or because no person answered and the request says that it runs then.
/// An approval is bound to the call, the current contract and the
/// argument bytes. A leave is bound to the session, the tool and its contract, and to a time or a
/// count, where the tool's policy permits one.
pub(crate) fn no_run_without_leave(recording: &Recording) -> Verdict {
    let calls = recording.calls();
    // For each request: the call, the contract, and the hash of the arguments.
    let mut requests: BTreeMap<Seq, (Seq, ObjectHash, ObjectHash)> = BTreeMap::new();
    let mut abouts: BTreeMap<Seq, About> = BTreeMap::new();
    let mut open = BTreeSet::new();
    let mut agreed: BTreeSet<Seq> = BTreeSet::new();
    let mut waived: BTreeSet<Seq> = BTreeSet::new();
    let mut unanswered = Unanswered::default();
    let mut in_place = Waits::default();
    let mut approvals = Approvals::default();
    // The terms that each request pins.
    let mut pinned: BTreeMap<Seq, Option<Needs>> = BTreeMap::new();
    let mut verdicts = GateVerdicts::default();
    // The arguments that an approver wrote in place of the model's.
    let mut edited: BTreeMap<Seq, Json> = BTreeMap::new();
    let mut leaves = Leaves::default();
    for (index, fact) in recording.facts.iter().enumerate() {
        in_place.read(fact);
        verdicts.read(recording, fact);
        leaves.read(recording, fact)?;
        unanswered.read(recording, fact)?;
        if let Some(it) = approvals.read(fact)
            && open.remove(&it.request)
            && it.confirmed
        {
            let call = requests[&it.request].0;
            let name = calls[&call].name.clone().unwrap_or_default();
            let edits = recording
                .tools_at(index)
                .and_then(|tools| tools.policies().of(&name).gate_terms.edits);
            match (
                &it.edited_args,
                edits.filter(|_| abouts[&it.request] == About::Gate),
            ) {
                (Some(args), Some(edits)) => {
                    edited.insert(call, args.clone());
                    if edits == Edits::Allowed {
                        let hash = ObjectHash::of(args.as_str().as_bytes());
                        requests
                            .entry(it.request)
                            .and_modify(|bound| bound.2 = hash);
                        agreed.insert(it.request);
                    }
                }
                (Some(_), None) | (None, _) => _ = agreed.insert(it.request),
            }
        }
        if let Some(question) = decided(fact).and_then(Decision::question) {
            pinned.insert(fact.seq, question.needs.as_deref().cloned());
        }
        match decided(fact) {
            Some(Decision::ConfirmationRequested(it)) => {
                requests.insert(fact.seq, (it.call, it.contract, it.args_sha256));
                abouts.insert(fact.seq, it.about);
                // An answer to a run that waits in place does not permit a start.
                if !in_place.is_of_run(fact.seq) {
                    open.insert(fact.seq);
                }
            }
            Some(Decision::ConfirmationReopened(it)) => {
                let (call, _, args) = requests[&it.request];
                requests.insert(fact.seq, (call, it.question.contract, args));
                abouts.insert(fact.seq, it.question.about);
                open.remove(&it.request);
                agreed.remove(&it.request);
                open.insert(fact.seq);
            }
            Some(Decision::ConfirmationExpired(it)) => _ = open.remove(&it.request),
            Some(Decision::ConfirmationWithdrawn(it)) => _ = open.remove(&it.request),
            Some(Decision::GateWaived(it)) if it.unanswered.is_none() => {
                waived.insert(it.call);
            }
            Some(Decision::CallStarted(it)) => {
                let (Some(call), Some(tools)) = (calls.get(&it.call), recording.tools_at(index))
                else {
                    return Err(format!("{} starts a call that no runner can run", fact.seq));
                };
                let name = call.name.clone().unwrap_or_default();
                let Some(declared) = tools.catalog().get(&name) else {
                    return Err(format!("{} starts a tool that is not there", fact.seq));
                };
                let policy = tools.policies().of(&name);
                let args = edited.get(&it.call).or(call.args.as_ref());
                let args = args.map_or("{}", |args| args.as_str());
                let bound = (
                    it.call,
                    contract_hash(declared, policy),
                    ObjectHash::of(args.as_bytes()),
                );
                let leave = agreed.iter().any(|request| {
                    let terms = covers(policy, pinned[request].as_ref());
                    terms && requests[request] == bound
                });
                let is_open = policy.gate_terms.asks_program && verdicts.is_open(it.call);
                let leave = leave || leaves.permits(it.call, bound.1, fact.at);
                let leave = leave || unanswered.permits(it.call, bound.1, bound.2);
                // A gate whose answers have terms is never waived.
                let is_waived = waived.contains(&it.call) && covers(policy, None);
                if policy.confirm && !is_open && !leave && !is_waived {
                    return Err(format!("{} starts without leave", fact.seq));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// True if a request with these terms gives the leave that the policy asks for.
fn covers(policy: &ToolPolicy, needs: Option<&Needs>) -> bool {
    let terms = &policy.gate_terms;
    let needs = needs.cloned().unwrap_or_default();
    let quorum = needs.quorum.map(|it| it.get());
    (&terms.approvers, terms.not_requester, terms.quorum)
        == (&needs.approvers, needs.not_requester, quorum)
}

/// A call of a tool that is not idempotent (in-doubt rule `retry`) starts at most once for each
/// permission. A permission is an allowing verdict, a waived gate, an approval, or a use of a
/// standing leave. A start whose tool had not begun does not use it up.
pub(crate) fn not_twice_by_one_leave(recording: &Recording) -> Verdict {
    let calls = recording.calls();
    let mut call_of: BTreeMap<Seq, Seq> = BTreeMap::new();
    let mut fresh: BTreeSet<Seq> = BTreeSet::new();
    let mut open = BTreeSet::new();
    let mut runs = Runs::default();
    let mut in_place = Waits::default();
    let mut approvals = Approvals::default();
    let mut verdicts = GateVerdicts::default();
    // The calls whose last start used up a permission.
    let mut by_leave: BTreeSet<Seq> = BTreeSet::new();
    for (index, fact) in recording.facts.iter().enumerate() {
        let not_begun = runs.read(fact);
        in_place.read(fact);
        fresh.extend(verdicts.read(recording, fact));
        let spent = |it: &&Start| by_leave.contains(&it.call);
        fresh.extend(not_begun.iter().filter(spent).map(|it| it.call));
        if let Some(it) = approvals.read(fact)
            && open.remove(&it.request)
            && it.confirmed
        {
            fresh.extend(call_of.get(&it.request));
        }
        match decided(fact) {
            Some(Decision::PolicyDecided(it)) if it.verdict == Says::Allowed => {
                _ = fresh.insert(it.call)
            }
            Some(Decision::GateWaived(it)) => _ = fresh.insert(it.call),
            Some(Decision::LeaveUsed(it)) => _ = fresh.insert(it.call),
            Some(Decision::ConfirmationRequested(it)) if !in_place.is_of_run(fact.seq) => {
                call_of.insert(fact.seq, it.call);
                open.insert(fact.seq);
                // A new question revokes the permission.
                fresh.remove(&it.call);
            }
            Some(Decision::ConfirmationReopened(it)) => {
                call_of.insert(fact.seq, it.question.call);
                open.remove(&it.request);
                open.insert(fact.seq);
                fresh.remove(&it.question.call);
            }
            Some(Decision::CallStarted(it)) => {
                let name = calls[&it.call].name.clone().unwrap_or_default();
                let rule = recording
                    .tools_at(index)
                    .map(|tools| tools.policies().of(&name).in_doubt);
                let tools = recording.tools_at(index);
                let declared = tools.and_then(|tools| tools.catalog().get(&name));
                let is_agent = declared.is_some_and(|it| it.kind == ToolKind::Agent);
                let leave = fresh.remove(&it.call);
                if leave {
                    by_leave.insert(it.call);
                } else {
                    by_leave.remove(&it.call);
                }
                // An agent continues and repeats nothing; see `agents`.
                if !leave && rule != Some(InDoubt::Retry) && !is_agent {
                    return Err(format!("{} starts a second time by one leave", fact.seq));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The running attempts, read from the records one by one.
#[derive(Default)]
pub(crate) struct Runs(BTreeMap<Seq, u32>, Waits, Asked, Claims);

impl Runs {
    /// Reads the next record. Returns the starts that it reports as not begun.
    pub(crate) fn read(&mut self, fact: &Fact) -> Vec<Start> {
        let runs = &self.0;
        let replied = self.2.read(fact, |call| runs.get(&call).copied());
        if let Some(it) = replied.filter(|it| it.calls() > 0) {
            self.end(it.call, it.attempt);
        }
        let mut not_begun = self.take(fact);
        if let Some(ended) = self.3.read(fact) {
            let (call, attempt) = (ended.call, ended.attempt);
            self.end(call, attempt);
            let given_back = ended.how == How::NotBegun;
            not_begun.extend(given_back.then_some(Start { call, attempt }));
        }
        self.1.read(fact);
        not_begun
    }

    fn take(&mut self, fact: &Fact) -> Vec<Start> {
        match &fact.event {
            Event::Observed(Observation::RunnerDetached(it)) => {
                let held = |call: &Seq| self.3.holds(*call);
                let before = std::mem::take(&mut self.0);
                self.0 = before
                    .clone()
                    .into_iter()
                    .filter(|(call, _)| held(call))
                    .collect();
                // A client's run goes on, and so does the number of a start that waits in place.
                let before: BTreeMap<Seq, u32> = before
                    .into_iter()
                    .filter(|(call, _)| !self.3.holds(*call) && !self.1.waits(*call))
                    .collect();
                let ran = |it: &&Start| before.get(&it.call) == Some(&it.attempt);
                return it.not_begun.iter().filter(ran).copied().collect();
            }
            Event::Observed(Observation::Paused(it)) => {
                let ran = |it: &&Start| {
                    let runs = self.0.get(&it.call) == Some(&it.attempt);
                    // A pause takes nothing back from a client.
                    runs && !self.1.waits(it.call) && !self.3.holds(it.call)
                };
                let taken: Vec<Start> = it.not_begun.iter().filter(ran).copied().collect();
                taken.iter().for_each(|it| self.end(it.call, it.attempt));
                return taken;
            }
            Event::Observed(Observation::RunnerAttached(it)) if !it.goes_on => {
                self.0.retain(|call, _| self.3.holds(*call));
            }
            // A client's run does not pause or ask.
            Event::Observed(Observation::ToolPaused(it)) if self.3.holds(it.call) => {}
            Event::Observed(Observation::ToolAsked(it)) if self.3.holds(it.call) => {}
            Event::Observed(Observation::ToolReturned(it)) => self.end(it.call, it.attempt),
            Event::Observed(Observation::ToolPaused(it)) => self.end(it.call, it.attempt),
            Event::Observed(Observation::ToolAsked(it)) if !it.in_place => {
                self.end(it.call, it.attempt);
            }
            Event::Observed(Observation::DeadlinePassed(it)) => {
                if let Deadline::Run { call, attempt } = it.deadline
                    && !self.1.waits(call)
                {
                    self.end(call, attempt);
                }
            }
            Event::Decided(Decision::CallStarted(it)) => _ = self.0.insert(it.call, it.attempt),
            Event::Decided(Decision::CallCancelled(it)) => _ = self.0.remove(&it.call),
            Event::Decided(Decision::ResponseIssued(it)) if it.outcome != Outcome::Interim => {
                self.0.remove(&it.call);
            }
            Event::Observed(_) | Event::Decided(_) => {}
        }
        Vec::new()
    }

    fn end(&mut self, call: Seq, attempt: u32) {
        if self.0.get(&call) == Some(&attempt) {
            self.0.remove(&call);
        }
    }
}

/// The attempts of a call count from 1 without a gap. Each starts under the current runner, and
/// never while another attempt of the call runs. An attempt that had not begun does not count.
pub(crate) fn attempts_increase_and_name_the_runner(recording: &Recording) -> Verdict {
    let mut attempts: BTreeMap<Seq, u32> = BTreeMap::new();
    let mut runs = Runs::default();
    let (mut runner, mut claim) = (None, None);
    for fact in &recording.facts {
        match observed(fact) {
            Some(Observation::RunnerAttached(it)) if !it.goes_on || runner.is_none() => {
                runner = Some(fact.seq);
            }
            Some(Observation::RunnerDetached(_)) => runner = None,
            _ => {}
        }
        let ran = runs.0.keys().copied().collect::<BTreeSet<Seq>>();
        let claimed = match observed(fact) {
            Some(Observation::ClaimEnded(it)) => Some(it.call),
            Some(Observation::CallClaimed(_)) => {
                claim = Some(fact.seq);
                None
            }
            _ => None,
        };
        // A start that a client gave back keeps its number, so that its reports are stale.
        for it in runs.read(fact).iter().filter(|it| claimed != Some(it.call)) {
            *attempts.entry(it.call).or_default() -= 1;
        }
        if let Some(Decision::CallStarted(it)) = decided(fact) {
            let attempt = attempts.entry(it.call).or_default();
            *attempt += 1;
            let runs_already = ran.contains(&it.call);
            let by = [runner, claim].contains(&Some(it.runner));
            if *attempt != it.attempt || !by || runs_already {
                return Err(format!(
                    "{} is not the next attempt by {runner:?}",
                    fact.seq
                ));
            }
        }
    }
    Ok(())
}

/// The number of running calls never exceeds the current policies, and is zero without a runner.
/// Calls that run when another catalog lowers the limit run on, and no other starts beside them.
pub(crate) fn running_calls_stay_within_the_limit(recording: &Recording) -> Verdict {
    let mut ran = 0;
    for (facts, session) in &recording.steps {
        let slots = recording
            .tools_at(*facts)
            .and_then(|tools| tools.policies().running_max);
        let slots = if session.runner.is_some() {
            slots.unwrap_or(u32::MAX)
        } else {
            0
        };
        let run = session.calls.values().filter(|it| it.takes_slot());
        let run = run.count();
        if run > ran.max(slots as usize) || run != session.running() {
            let counted = session.running();
            return Err(format!(
                "{run} run, {counted} are counted, {slots} may, at fact {facts}"
            ));
        }
        ran = run;
    }
    Ok(())
}

/// An id on one connection identifies one call, however often it is delivered before the next
/// connection.
pub(crate) fn one_wire_id_is_one_call(recording: &Recording) -> Verdict {
    let calls = recording.calls();
    let mut judged = recording
        .facts
        .iter()
        .filter_map(|fact| match decided(fact) {
            Some(Decision::PolicyDecided(it)) => Some(it.call),
            _ => None,
        });
    let duplicate = judged.find(|call| !calls.contains_key(call));
    duplicate.map_or(Ok(()), |call| {
        Err(format!("{call} is a duplicate and was judged"))
    })
}
