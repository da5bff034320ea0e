//! Agents that are called as tools: each turn has one valid reply, and no call outlives its agent's
//! run.

use std::collections::{BTreeMap, BTreeSet};

use recount_session::{Event, Fact, LlmReplied, Observation, Seq};

use super::Verdict;
use super::recording::{Recording, observed};

/// The open requests to models of agents, read from the records one by one.
#[derive(Default)]
pub(crate) struct Asked(BTreeSet<(Seq, u32)>);

impl Asked {
    /// Reads the next record. `runs` returns the running attempt of a call. Returns the reply if it
    /// is valid.
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

/// A call of an agent is open exactly as long as the agent waits for it.
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

/// The recorded turns of a run are never lost, and each turn has at most the calls of its reply.
pub(crate) fn recorded_turns_are_kept(recording: &Recording) -> Verdict {
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
