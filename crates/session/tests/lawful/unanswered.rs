//! Calls that run because no person answered in time, read from the records alone.

use std::collections::BTreeMap;

use recount_session::{About, ConfirmationRequested, Decision, Fact, ObjectHash, OnExpiry, Seq};

use super::Verdict;
use super::recording::{Recording, decided};

/// The requests whose expiry lets a call run, and the calls that it let run.
#[derive(Default)]
pub(crate) struct Unanswered {
    /// The requests that say that an unanswered call runs.
    allowing: BTreeMap<Seq, Bound>,
    /// The requests that expired and whose waiver is due.
    due: BTreeMap<Seq, Bound>,
    waived: BTreeMap<Seq, Bound>,
}

/// The call, the contract and the arguments of a request.
#[derive(Clone, Copy, PartialEq)]
struct Bound(Seq, ObjectHash, ObjectHash);

impl Unanswered {
    /// Reads the next record. A waiver must name a request that has just expired and says so.
    pub(crate) fn read(&mut self, recording: &Recording, fact: &Fact) -> Verdict {
        match decided(fact) {
            Some(Decision::ConfirmationRequested(it)) => self.asked(fact.seq, it),
            Some(Decision::ConfirmationReopened(it)) => self.asked(fact.seq, &it.question),
            Some(Decision::ConfirmationExpired(it)) => {
                let bound = self.allowing.remove(&it.request);
                let runs = bound.filter(|_| !is_taken_back(recording, fact.seq, it.call));
                if runs.is_some() != it.goes_on {
                    return Err(format!("{} says goes_on: {}", fact.seq, it.goes_on));
                }
                self.due.extend(runs.map(|bound| (it.request, bound)));
            }
            Some(Decision::GateWaived(it)) => {
                if let Some(request) = it.unanswered {
                    let due = self.due.remove(&request);
                    let Some(bound) = due.filter(|bound| bound.0 == it.call) else {
                        return Err(format!("{} waives a gate that no expiry opens", fact.seq));
                    };
                    self.waived.insert(it.call, bound);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn asked(&mut self, request: Seq, it: &ConfirmationRequested) {
        // A new question about the call revokes what an older one let run. The question of a tool
        // is about its run alone.
        if it.about != About::Tool {
            self.waived.remove(&it.call);
        }
        if it.about == About::Gate && it.on_expiry == OnExpiry::Allow {
            let bound = Bound(it.call, it.contract, it.args_sha256);
            self.allowing.insert(request, bound);
        }
    }

    /// True if the call may start under this contract, with these arguments.
    pub(crate) fn permits(&self, call: Seq, contract: ObjectHash, args: ObjectHash) -> bool {
        self.waived.get(&call) == Some(&Bound(call, contract, args))
    }
}

/// True if the model had cancelled the call before the step of this record.
fn is_taken_back(recording: &Recording, at: Seq, call: Seq) -> bool {
    let mut steps = recording.steps.iter().rev();
    let before = steps.find(|(facts, _)| (*facts as u64) < at.0);
    let call = before.and_then(|(_, session)| session.calls.get(&call));
    call.is_some_and(|it| it.model_lost_interest)
}
