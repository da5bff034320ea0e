//! One generated history: everything on record, the session after each step, and what was said to commands.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use recount::session::{
    Command, Decision, Event, Fact, FunctionCallReceived, Observation, Rejection, Seq, Session,
};
use recount::testing::Toolbox;

/// One generated history.
pub(crate) struct Recording {
    /// A session of which nothing is known yet, with every object that the history names.
    pub(crate) start: Session,
    /// Everything on record.
    pub(crate) facts: Vec<Fact>,
    /// After each step: how many facts there were, and the session.
    pub(crate) steps: Vec<(usize, Session)>,
    /// Each command with the number of facts before it, and why it was turned away.
    pub(crate) commands: Vec<(usize, Command, Option<Rejection>)>,
    /// The tools of each runner.
    pub(crate) tools: BTreeMap<Seq, Toolbox>,
}

impl Recording {
    /// The calls by seq. An id that a connection repeats, until the next connection, is none.
    pub(crate) fn calls(&self) -> BTreeMap<Seq, &FunctionCallReceived> {
        let mut calls = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for fact in &self.facts {
            match observed(fact) {
                Some(Observation::Connected(_)) => seen.clear(),
                Some(Observation::FunctionCallReceived(it)) => {
                    let id = it.id.as_ref().map(|id| (it.epoch, id));
                    if id.is_none_or(|id| seen.insert(id)) {
                        calls.insert(fact.seq, it);
                    }
                }
                _ => {}
            }
        }
        calls
    }

    /// The tools in force before the fact at `index`.
    pub(crate) fn tools_at(&self, index: usize) -> Option<&Toolbox> {
        let attached = self.facts[..index]
            .iter()
            .rev()
            .find(|fact| matches!(observed(fact), Some(Observation::RunnerAttached(_))))?;
        self.tools.get(&attached.seq)
    }

    /// The facts of one step after another.
    pub(crate) fn batches(&self) -> impl Iterator<Item = &[Fact]> {
        let ends = self.steps.iter().map(|(end, _)| *end);
        let starts = std::iter::once(0).chain(ends.clone());
        starts.zip(ends).map(|(from, to)| &self.facts[from..to])
    }
}

/// What the world did, if the fact is of that sort.
pub(crate) fn observed(fact: &Fact) -> Option<&Observation> {
    match &fact.event {
        Event::Observed(observation) => Some(observation),
        Event::Decided(_) => None,
    }
}

/// What was decided, if the fact is of that sort.
pub(crate) fn decided(fact: &Fact) -> Option<&Decision> {
    match &fact.event {
        Event::Observed(_) => None,
        Event::Decided(decision) => Some(decision),
    }
}

/// The body as the journal writes it.
pub(crate) fn body(fact: &Fact) -> String {
    fact.event.body().expect("every body can be written")
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (runner, tools) in &self.tools {
            let (catalog, policies) = (tools.catalog().to_bytes(), tools.policies().to_bytes());
            writeln!(f, "runner {runner}: {}", String::from_utf8_lossy(&catalog))?;
            writeln!(f, "          {}", String::from_utf8_lossy(&policies))?;
        }
        for fact in &self.facts {
            let indent = if observed(fact).is_some() { "" } else { "  " };
            let (seq, kind) = (fact.seq, fact.event.kind());
            writeln!(f, "{seq:>4} {indent}{kind} {}", body(fact))?;
        }
        Ok(())
    }
}
