//! Agents that are called as tools: each turn of their model has one reply that counts, and no call
//! outlives the run that made it.

use std::collections::{BTreeMap, BTreeSet};

use recount_session::{Event, Fact, LlmReplied, Observation, Seq};

use super::Verdict;
use super::recording::{Recording, observed};

/// Which questions of agents wait for a reply, read off the records one by one.
#[derive(Default)]
pub(crate) struct Asked(BTreeSet<(Seq, u32)>);

impl Asked {
    /// Takes the next record in, where `runs` says which attempt of a call runs; gives the reply
    /// that counts, if it is one.
    pub(crate) fn read<'f>(
        &mut self,
        fact: &'f Fact,
        runs: impl Fn(Seq) -> Option<u32>,
    ) -> Option<&'f LlmReplied> {
        match &fact.event {
            Event::Observed(Observation::LlmAsked(it)) => {
                if runs(it.call) == Some(it.attempt) {
                    self.0.insert((it.call, it.attempt));
                }
                None
            }
            Event::Observed(Observation::LlmReplied(it)) => {
                let waits = runs(it.call) == Some(it.attempt);
                (self.0.remove(&(it.call, it.attempt)) && waits).then_some(it)
            }
            Event::Observed(_) | Event::Decided(_) => None,
        }
    }
}

/// A call that an agent made is open only while the agent waits for it, and the agent waits for no
/// other.
pub(crate) fn no_call_outlives_its_agent(recording: &Recording) -> Verdict {
    for (facts, session) in &recording.steps {
        let mut made: BTreeMap<Seq, BTreeSet<Seq>> = BTreeMap::new();
        for (seq, call) in session.calls.iter() {
            if let Some(parent) = call.parent {
                made.entry(parent).or_default().insert(*seq);
            }
        }
        for (parent, calls) in &made {
            let agent = session.calls.get(parent);
            let awaited: BTreeSet<Seq> = agent.into_iter().flat_map(|it| it.awaited()).collect();
            if awaited != *calls {
                return Err(format!(
                    "{parent} waits for {awaited:?}, and {calls:?} are open, at fact {facts}"
                ));
            }
        }
        for (seq, call) in session.calls.iter() {
            if call.awaited().next().is_some() && !made.contains_key(seq) {
                return Err(format!("{seq} waits for what is not open, at fact {facts}"));
            }
        }
    }
    Ok(())
}

/// What is on record of the turns of a run only grows, and each turn has the calls that its reply
/// made.
pub(crate) fn turns_that_were_paid_for_stay(recording: &Recording) -> Verdict {
    let mut before: BTreeMap<Seq, Vec<Seq>> = BTreeMap::new();
    for (facts, session) in &recording.steps {
        for (seq, call) in session.calls.iter() {
            let Some(run) = call.agent.as_deref() else {
                continue;
            };
            let turns: Vec<Seq> = run.turns.iter().map(|turn| turn.replied).collect();
            let known = before.insert(*seq, turns.clone()).unwrap_or_default();
            if !turns.starts_with(&known) {
                return Err(format!(
                    "{seq} had {known:?} and has {turns:?}, at fact {facts}"
                ));
            }
            for turn in &run.turns {
                let replied = observed(&recording.facts[turn.replied.0 as usize - 1]);
                let made = match replied {
                    Some(Observation::LlmReplied(it)) if it.call == *seq => it.calls(),
                    _ => return Err(format!("{} is no reply to {seq}", turn.replied)),
                };
                if turn.calls.len() > made {
                    return Err(format!("{seq} counts more calls than its reply made"));
                }
            }
        }
    }
    Ok(())
}
