//! Law 6 for state and phases: the fold agrees with the records and the guards.

use std::collections::BTreeMap;

use recount_session::{Condition, Decision, Fact, Observation, evolve};
use serde_json::Value;

use crate::Verdict;
use crate::model::{Model, holds};
use crate::recording::{Recording, decided, observed};

/// After every record, the fold has the values written last, and the phase to which the guards
/// lead. Guards are evaluated after a change of the state and at the end of a turn, and at no other
/// time.
pub(crate) fn the_phase_is_where_the_state_leads(recording: &Recording) -> Verdict {
    let mut model = Model::new(recording);
    let mut folded = recording.start.clone();
    for batch in recording.batches() {
        for (index, fact) in batch.iter().enumerate() {
            model.read(fact);
            folded = evolve(folded, fact);
            if index == 0 {
                let expected = way(&model, fact);
                let found: Vec<Step> = batch.iter().filter_map(entered).collect();
                if found != expected {
                    return Err(format!(
                        "after {}: {expected:?}, entered {found:?}",
                        fact.seq
                    ));
                }
                let last = batch.iter().rposition(|fact| entered(fact).is_some());
                if last.is_some_and(|last| last != found.len()) {
                    return Err(format!(
                        "another decision precedes a phase after {}",
                        fact.seq
                    ));
                }
            }
            let stay = folded.phase.as_ref();
            let stay = stay.map(|stay| (stay.phase.clone(), stay.entered));
            if stay != model.stay {
                let expected = &model.stay;
                return Err(format!(
                    "{}: {expected:?}, the fold says {stay:?}",
                    fact.seq
                ));
            }
            let state: BTreeMap<String, Value> = folded
                .state
                .iter()
                .map(|(key, value)| (key.clone(), value.to_value()))
                .collect();
            if state != model.state {
                let expected = &model.state;
                return Err(format!(
                    "{}: {expected:?}, the fold says {state:?}",
                    fact.seq
                ));
            }
        }
    }
    Ok(())
}

/// The phase, the phase before, and the guard that held.
type Step = (String, Option<String>, Option<Condition>);

fn entered(fact: &Fact) -> Option<Step> {
    match decided(fact) {
        Some(Decision::PhaseEntered(it)) => {
            Some((it.phase.clone(), it.from.clone(), it.when.clone()))
        }
        _ => None,
    }
}

/// Returns the phases that must be entered after an observation.
fn way(model: &Model<'_>, fact: &Fact) -> Vec<Step> {
    let phases = model.tools.map(|tools| tools.policies().phases.as_slice());
    let phases = phases.unwrap_or_default();
    let (Some(first), false) = (phases.first(), model.closed) else {
        return Vec::new();
    };
    let looked_at = match observed(fact) {
        Some(Observation::TurnCompleted(_)) => true,
        // A write of a tool whose run is over has no effect.
        Some(Observation::StateChanged(it)) => match &it.author {
            recount_session::Author::Tool { call, attempt } => {
                model.running.get(call) == Some(attempt)
            }
            recount_session::Author::Hook(_) | recount_session::Author::Program(_) => true,
        },
        _ => false,
    };
    let mut moves = if looked_at { phases.len() } else { 0 };
    let mut at = model.stay.as_ref().map(|(name, _)| name.clone());
    let mut way = Vec::new();
    loop {
        let here = phases.iter().find(|phase| Some(&phase.name) == at.as_ref());
        let next = match here {
            None => (first.name.clone(), at.clone(), None),
            Some(here) => {
                let value_of = |key: &str| model.value(key).cloned();
                let mut ways = here.transitions.iter();
                let Some(out) = ways.find(|it| moves > 0 && holds(&it.when, &value_of)) else {
                    return way;
                };
                (out.to.clone(), at.clone(), Some(out.when.clone()))
            }
        };
        moves = moves.saturating_sub(1);
        at = Some(next.0.clone());
        way.push(next);
    }
}
