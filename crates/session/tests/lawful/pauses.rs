//! Law 3, the stop switch: nothing starts while a pause holds it.

use std::collections::{BTreeMap, BTreeSet};

use recount_session::{
    Call, Decision, Fact, FunctionCallReceived, Observation, PauseScope, Seq, Session,
};

use super::Verdict;
use super::recording::{Recording, decided, observed};

/// The pauses in force, read from the records one by one.
#[derive(Default)]
struct Pauses {
    of: BTreeSet<PauseScope>,
    closed: bool,
}

impl Pauses {
    fn read(&mut self, fact: &Fact) {
        match observed(fact) {
            Some(Observation::Paused(it)) if !self.closed => {
                self.of.insert(it.scope.clone());
            }
            Some(Observation::Unpaused(it)) => _ = self.of.remove(&it.scope),
            Some(Observation::SessionClosed(_)) => {
                self.of.clear();
                self.closed = true;
            }
            _ => {}
        }
    }

    fn holds(&self, calls: &BTreeMap<Seq, &FunctionCallReceived>, call: Seq) -> bool {
        let of_tools = |it: &PauseScope| matches!(it, PauseScope::Tool(_));
        if self.of.iter().any(|it| !of_tools(it)) {
            return true;
        }
        let mut next = calls.get(&call);
        while let Some(it) = next {
            let name = it.name.clone().unwrap_or_default();
            if self.of.contains(&PauseScope::Tool(name)) {
                return true;
            }
            next = it.parent.and_then(|parent| calls.get(&parent));
        }
        false
    }
}

/// No call starts while a pause is in force that holds its tool, or the tool of an agent that made
/// the call. The pauses of the session are those on record.
pub(crate) fn nothing_starts_while_a_pause_holds_it(recording: &Recording) -> Verdict {
    let calls = recording.calls();
    let mut pauses = Pauses::default();
    for ((_, session), batch) in recording.steps.iter().zip(recording.batches()) {
        for fact in batch {
            pauses.read(fact);
            if let Some(Decision::CallStarted(it)) = decided(fact)
                && pauses.holds(&calls, it.call)
            {
                return Err(format!("{} starts while paused: {:?}", fact.seq, pauses.of));
            }
        }
        let folded: BTreeSet<PauseScope> =
            session.pauses.iter().map(|it| it.scope.clone()).collect();
        if folded != pauses.of {
            return Err(format!("on record {:?}, folded {folded:?}", pauses.of));
        }
    }
    Ok(())
}

/// True if a pause in force holds an open call.
pub(crate) fn is_held(session: &Session, call: &Call) -> bool {
    let of_tool = |name: &str| session.pauses.of(&PauseScope::Tool(name.to_owned()));
    let wide = |it: &PauseScope| !matches!(it, PauseScope::Tool(_));
    let mut next = Some(call);
    while let Some(it) = next {
        if of_tool(&it.name).is_some() {
            return true;
        }
        next = it.parent.and_then(|parent| session.calls.get(&parent));
    }
    session.pauses.iter().any(|it| wide(&it.scope))
}
