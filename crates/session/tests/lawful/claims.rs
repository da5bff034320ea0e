//! Calls that clients run: claims and leases, read from the records one by one.

use std::collections::{BTreeMap, BTreeSet};

use recount_session::{
    Actor, CallClaimed, Deadline, Decision, Event, Fact, Observation, Outcome, Seq, Timestamp,
};

use super::Verdict;
use super::recording::{Recording, decided, observed};

/// The claims that clients hold.
#[derive(Default)]
pub(crate) struct Claims {
    offered: Option<(Seq, CallClaimed)>,
    held: BTreeMap<Seq, Held>,
}

/// A claim on the running start of a call.
pub(crate) struct Held {
    pub(crate) attempt: u32,
    claim: String,
    by: Actor,
    /// The end of the lease.
    pub(crate) until: Timestamp,
}

/// The end of a claim.
pub(crate) struct Ended {
    pub(crate) call: Seq,
    pub(crate) attempt: u32,
    pub(crate) how: How,
}

/// The ways in which a claim ends.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum How {
    /// The client gave the call back before it began.
    NotBegun,
    /// The lease passed, or the claim was ended: the call is in doubt.
    InDoubt,
    /// The run ended otherwise.
    Over,
}

impl Claims {
    /// True if a client runs the call.
    pub(crate) fn holds(&self, call: Seq) -> bool {
        self.held.contains_key(&call)
    }

    /// An iterator over the held calls.
    pub(crate) fn held(&self) -> impl Iterator<Item = (&Seq, &Held)> {
        self.held.iter()
    }

    /// Reads the next record. Returns the claim that ends with it.
    pub(crate) fn read(&mut self, fact: &Fact) -> Option<Ended> {
        match &fact.event {
            Event::Observed(observation) => self.observed(fact, observation),
            Event::Decided(Decision::CallStarted(it)) => {
                let offered = self.offered.take().filter(|(at, _)| *at == it.runner);
                if let Some((_, claimed)) = offered {
                    let held = Held {
                        attempt: it.attempt,
                        claim: claimed.claim,
                        by: claimed.by,
                        until: claimed.until_us,
                    };
                    self.held.insert(it.call, held);
                }
                None
            }
            Event::Decided(Decision::ResponseIssued(it)) if it.outcome != Outcome::Interim => {
                self.end(it.call, None, How::Over)
            }
            Event::Decided(Decision::CallCancelled(it)) => self.end(it.call, None, How::Over),
            Event::Decided(_) => None,
        }
    }

    fn observed(&mut self, fact: &Fact, observation: &Observation) -> Option<Ended> {
        match observation {
            Observation::CallClaimed(it) => {
                self.offered = Some((fact.seq, it.clone()));
                None
            }
            Observation::LeaseRenewed(it) => {
                let held = self.held.get_mut(&it.call)?;
                let same = held.attempt == it.attempt && held.claim == it.claim;
                if same && held.by == it.by && fact.at < held.until {
                    held.until = held.until.max(it.until_us);
                }
                None
            }
            Observation::ClaimEnded(it) => {
                let held = self.held.get(&it.call)?;
                let how = if it.not_begun {
                    How::NotBegun
                } else {
                    How::InDoubt
                };
                let same = held.claim == it.claim;
                same.then(|| self.end(it.call, Some(it.attempt), how))?
            }
            Observation::DeadlinePassed(it) => match it.deadline {
                Deadline::Lease { call, attempt } => {
                    let passed = self.held.get(&call)?.until <= fact.at;
                    passed.then(|| self.end(call, Some(attempt), How::InDoubt))?
                }
                Deadline::Run { call, attempt } => self.end(call, Some(attempt), How::Over),
                Deadline::Confirmation { .. }
                | Deadline::Retry { .. }
                | Deadline::Acknowledgement { .. } => None,
            },
            Observation::ToolReturned(it) => self.end(it.call, Some(it.attempt), How::Over),
            _ => None,
        }
    }

    fn end(&mut self, call: Seq, attempt: Option<u32>, how: How) -> Option<Ended> {
        let held = self.held.get(&call)?.attempt;
        if attempt.is_some_and(|it| it != held) {
            return None;
        }
        self.held.remove(&call);
        let attempt = held;
        Some(Ended { call, attempt, how })
    }
}

/// A call of a client-run tool starts only by a claim of that start, and each start has one holder.
/// Every admitted claim starts its call at once, without a runner.
pub(crate) fn one_client_holds_each_start(recording: &Recording) -> Verdict {
    let mut claims = Claims::default();
    let mut holders: BTreeMap<(Seq, u32), Seq> = BTreeMap::new();
    for batch in recording.batches() {
        for (index, fact) in batch.iter().enumerate() {
            if let Some(Decision::CallStarted(it)) = decided(fact) {
                let claim = batch[..index].iter().find_map(|fact| match observed(fact) {
                    Some(Observation::CallClaimed(claim)) => Some((fact.seq, claim)),
                    _ => None,
                });
                let by_claim = claim.filter(|(at, _)| *at == it.runner);
                let name = recording.calls()[&it.call].name.clone().unwrap_or_default();
                let tools = recording.tools_at(fact.seq.0 as usize - 1);
                let declared = tools.and_then(|tools| tools.catalog().get(&name));
                let at_client = declared.is_some_and(|it| it.kind.runs_at_client());
                let fits = by_claim
                    .is_some_and(|(_, claim)| (claim.call, claim.attempt) == (it.call, it.attempt));
                if at_client != by_claim.is_some() || at_client != fits {
                    return Err(format!("{} starts, at a client: {at_client}", fact.seq));
                }
                let taken = by_claim.and_then(|(at, _)| holders.insert((it.call, it.attempt), at));
                if claims.holds(it.call) || taken.is_some() {
                    return Err(format!("{} starts what a client holds", fact.seq));
                }
            }
            claims.read(fact);
        }
    }
    Ok(())
}

/// A client's run is put in doubt by its lease or by `claim_ended`, and by nothing else.
pub(crate) fn only_the_lease_doubts_a_clients_run(recording: &Recording) -> Verdict {
    let mut claims = Claims::default();
    for ((facts, session), batch) in recording.steps.iter().zip(recording.batches()) {
        for fact in batch {
            claims.read(fact);
        }
        for (call, held) in claims.held() {
            let open = session.calls.get(call);
            let runs = open.and_then(|it| Some((it.phase.name(), it.held_claim()?)));
            let found = runs.map(|(phase, claim)| (phase, claim.attempt, claim.until));
            if found != Some(("running", held.attempt, held.until)) {
                return Err(format!("{call} is {found:?} at a client, at fact {facts}"));
            }
        }
        let counted = session
            .calls
            .values()
            .filter(|it| it.held_claim().is_some());
        if counted.count() != claims.held().count() {
            return Err(format!("a claim outlives its run, at fact {facts}"));
        }
    }
    Ok(())
}

/// A result that comes after its lease counts once, and only for the newest start of the call,
/// whose claim ended without one.
pub(crate) fn late_results_are_fenced(recording: &Recording) -> Verdict {
    let mut newest: BTreeMap<Seq, u32> = BTreeMap::new();
    let (mut claims, mut lapsed) = (Claims::default(), BTreeSet::new());
    for batch in recording.batches() {
        let late = match observed(&batch[0]) {
            Some(Observation::OutcomeFound(it)) => it.attempt.map(|attempt| (it.call, attempt)),
            _ => None,
        };
        if let Some((call, attempt)) = late
            && (newest.get(&call) != Some(&attempt) || !lapsed.contains(&(call, attempt)))
            && let Some(moved) = batch.iter().filter_map(decided).next()
        {
            return Err(format!("{} counts: {moved:?}", batch[0].seq));
        }
        for fact in batch {
            let passed = matches!(observed(fact), Some(Observation::DeadlinePassed(_)));
            if let Some(ended) = claims
                .read(fact)
                .filter(|it| passed || it.how == How::InDoubt)
            {
                lapsed.insert((ended.call, ended.attempt));
            }
            if let Some(Decision::CallStarted(it)) = decided(fact) {
                newest.insert(it.call, it.attempt);
            }
        }
    }
    Ok(())
}
