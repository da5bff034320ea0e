//! Which runs wait for an answer where they stand, read off the records one by one.

use std::collections::{BTreeMap, BTreeSet};

use recount_session::{Decision, Event, Fact, Observation, Seq};

/// The open questions of runs that wait.
#[derive(Default)]
pub(crate) struct Waits {
    asked: BTreeSet<Seq>,
    open: BTreeMap<Seq, Seq>,
}

/// What a record means for a run.
pub(crate) enum Turn {
    /// It waits from here on.
    Waits(Seq),
    /// It goes on from here, if nothing else has ended it.
    GoesOn(Seq),
}

impl Waits {
    /// Takes the next record in.
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

    /// Whether the call's run waits.
    pub(crate) fn waits(&self, call: Seq) -> bool {
        self.open.values().any(|it| *it == call)
    }

    /// Whether the request is that of a run which waits.
    pub(crate) fn is_of_run(&self, request: Seq) -> bool {
        self.open.contains_key(&request)
    }
}
