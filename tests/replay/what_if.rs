//! A what-if run decides a history again under other policies.

use std::collections::BTreeMap;

use recount::replay::what_if::{CallReport, Standing, Told, WhatIf};
use recount::session::{
    CacheChange, Decision, Event, GateChange, Outcome, PolicyChanges, Rule, Seq, ToolPolicyChanges,
    Verdict::Allowed,
};

use crate::recording::Recording;

/// The outcome of a law on one history: the error names the counterexample.
type Verdict = Result<(), String>;

fn under(recording: &Recording, changes: &PolicyChanges) -> Vec<CallReport> {
    let library = recording.start.library().clone();
    let mut world = WhatIf::new(recording.start.id, library, changes);
    let facts = recording.facts.iter().cloned();
    facts.for_each(|fact| world.tell(fact));
    world.end().calls
}

/// Under the policies of the session itself, no call changes and none is unknown.
pub(crate) fn the_same_policies_change_nothing(recording: &Recording) -> Verdict {
    let calls = under(recording, &PolicyChanges::default());
    match calls
        .iter()
        .find(|call| call.is_changed() || call.heard.is_some())
    {
        Some(call) => Err(format!("{call:#?}")),
        None => Ok(()),
    }
}

/// Under any policies, every call that ended on record is reported once, with its recorded end.
///
/// With gates on every tool, no call runs without an approval.
pub(crate) fn other_policies_leave_the_record_as_it_is(recording: &Recording) -> Verdict {
    let of_everything = |policy| PolicyChanges {
        defaults: policy,
        ..PolicyChanges::default()
    };
    let none = ToolPolicyChanges::default;
    let gates = |confirm| ToolPolicyChanges {
        confirm: Some(confirm),
        ..none()
    };
    let gated = of_everything(gates(GateChange::Closed { hint: None }));
    let others = [
        of_everything(gates(GateChange::Open)),
        gated.clone(),
        of_everything(ToolPolicyChanges {
            limit_per_session: Some(Some(1)),
            cached: Some(CacheChange::Off),
            timeout: Some(None),
            ..none()
        }),
    ];
    for changes in &others {
        let calls = under(recording, changes);
        let told: BTreeMap<Seq, Standing> = calls
            .iter()
            .map(|it| (it.call, it.recorded.standing))
            .collect();
        if told.len() != calls.len() {
            return Err(format!("a call is told twice: {calls:#?}"));
        }
        if changes == &gated
            && let Some(call) = calls.iter().find(|it| ran_unasked(&it.under))
        {
            return Err(format!("it ran without an approval: {call:#?}"));
        }
        for (call, outcome) in ends(recording) {
            if told.get(&call) != Some(&Standing::Ended(outcome)) {
                return Err(format!(
                    "{call} ended as {outcome:?}, and is told as {:?}",
                    told.get(&call)
                ));
            }
        }
    }
    Ok(())
}

/// True if a tool ran without an approval.
///
/// A cached result runs no tool, and a gate that is waived in the whole session asks for no
/// approval.
fn ran_unasked(under: &Told) -> bool {
    let allowed = under.verdict == Some(Allowed);
    allowed && !matches!(under.rule, Some(Rule::Confirm | Rule::Cached))
}

/// The recorded outcome of each call of a history.
fn ends(recording: &Recording) -> BTreeMap<Seq, Outcome> {
    let end = |decision: &Decision| match decision {
        Decision::ResponseIssued(it) if it.outcome != Outcome::Interim => {
            Some((it.call, it.outcome))
        }
        Decision::CallCancelled(it) => Some((it.call, Outcome::Withdrawn)),
        _ => None,
    };
    let decided = recording.facts.iter().filter_map(|fact| match &fact.event {
        Event::Decided(decision) => end(decision),
        Event::Observed(_) => None,
    });
    decided.collect()
}
