//! Deciding a history again under other policies.

use std::collections::BTreeMap;

use recount::replay::what_if::{CallReport, Standing, WhatIf};
use recount::session::{
    CacheChange, Decision, Event, GateChange, Outcome, PolicyChanges, Seq, ToolPolicyChanges,
};

use crate::lawful::Verdict;
use crate::lawful::recording::Recording;

fn under(recording: &Recording, changes: &PolicyChanges) -> Vec<CallReport> {
    let library = recording.start.library().clone();
    let mut world = WhatIf::new(recording.start.id, library, changes);
    let facts = recording.facts.iter().cloned();
    facts.for_each(|fact| world.tell(fact));
    world.end().calls
}

/// Under its own policies no call would have gone otherwise, and none is unknown.
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

/// Whatever the policies, every call that ended on record is told once, with the end that it has there; and whatever would have had
/// its leave taken away did not run unasked.
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
    let others = [
        of_everything(gates(GateChange::Open)),
        of_everything(gates(GateChange::Closed { hint: None })),
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

/// How the calls of a history ended.
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
