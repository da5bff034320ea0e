//! The runs that wait in place for an answer, read from the records one by one.

use std::collections::{BTreeMap, BTreeSet};

use recount_session::{Decision, Event, Fact, Observation, Seq};

/// The open questions of runs that wait in place.
#[derive(Default)]
pub(crate) struct Waits {
    asked: BTreeSet<Seq>,
    open: BTreeMap<Seq, Seq>,
}

/// The effect of a record on a run.
pub(crate) enum Turn {
    /// The run waits from here on.
    Waits(Seq),
    /// The run continues from here, if nothing else has ended it.
    GoesOn(Seq),
}

impl Waits {
    /// Reads the next record.
    pub(crate) fn read(&mut self, fact: &Fact) -> Option<Turn> {
        let closed = match &fact.event {
            Event::Observed(Observation::ToolAsked(it)) if it.in_place => {
                self.asked.insert(fact.seq);
                return None;
            }
            Event::Decided(Decision::ConfirmationRequested(it)) => {
                self.asked.get(&it.asked?)?;
                self.open.insert(fact.seq, it.call);
                return Some(Turn::Waits(it.call));
            }
            Event::Observed(Observation::RunnerAttached(_) | Observation::RunnerDetached(_)) => {
                self.open.clear();
                return None;
            }
            Event::Observed(Observation::ConfirmationAnswered(it)) => it.request,
            Event::Decided(Decision::ConfirmationExpired(it)) => it.request,
            Event::Decided(Decision::ConfirmationWithdrawn(it)) => it.request,
            Event::Observed(_) | Event::Decided(_) => return None,
        };
        self.open.remove(&closed).map(Turn::GoesOn)
    }

    /// True if the call's run waits.
    pub(crate) fn waits(&self, call: Seq) -> bool {
        self.open.values().any(|it| *it == call)
    }

    /// True if the request belongs to a run that waits.
    pub(crate) fn is_of_run(&self, request: Seq) -> bool {
        self.open.contains_key(&request)
    }
}
