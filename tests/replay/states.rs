//! The state at a record is the session's state at that time, in any order of reading.
//!
//! The JSON of a state is complete.

use std::sync::Arc;

use recount::journal::{DiskJournal, block_on};
use recount::ledger::Ledger;
use recount::replay::{NoState, changes, state_at, state_json, value_at};
use recount::session::{Event, Json, Phase, Seq, Session, evolve, owed};
use serde_json::Value;

use crate::{generated, write};

#[test]
fn state_at_each_record_is_fold_forward_and_backward() {
    let place = tempfile::tempdir().unwrap();
    let ledger = Ledger::new(Arc::new(
        DiskJournal::open(place.path().join("journal")).unwrap(),
    ));
    let mut compared = 0;
    for recording in generated().iter().take(12) {
        let id = recording.start.id;
        write(&ledger, recording, recording.facts.len());
        let last = recording.facts.len() as u64;
        let mut states = vec![Session::new(id)];
        let mut session = recording.start.clone();
        for fact in &recording.facts {
            session = evolve(session, fact);
            states.push(session.clone());
        }
        // Backward, then every third one forward.
        let backward = (0..=last).rev();
        for seq in backward.chain((0..=last).step_by(3)) {
            let found = block_on(state_at(&ledger, id, Some(Seq(seq)))).unwrap();
            let expected = &states[usize::try_from(seq).unwrap()];
            assert_eq!(owed(&found), owed(expected), "seq {seq}");
            assert_eq!(state_json(&found), state_json(expected), "seq {seq}");
            compared += 1;
        }
        let end = block_on(state_at(&ledger, id, None)).unwrap();
        assert_eq!(end.head, Seq(last));
        let beyond = block_on(state_at(&ledger, id, Some(Seq(last + 1))));
        let Err(NoState::BeyondTheEnd { last: told, .. }) = beyond else {
            panic!("{beyond:?}");
        };
        assert_eq!(told, Seq(last));
    }
    assert!(compared > 500, "only {compared} states");
}

/// The JSON holds every open item of a session under its seq, and the changes are the differences.
#[test]
fn state_json_is_complete_and_its_changes_join_states() {
    let (mut calls, mut changed) = (0, 0);
    for recording in generated().iter().take(40) {
        let mut before: Option<Json> = None;
        for (_, session) in &recording.steps {
            let json = state_json(session);
            let value: Value = serde_json::from_str(json.as_str()).unwrap();
            for (seq, call) in &session.calls {
                let at = |member: &str| {
                    let found = value_at(&json, &format!("/calls/{seq}{member}")).unwrap();
                    found.to_string()
                };
                assert_eq!(at("/args"), call.args.as_str());
                assert_eq!(at("/phase/name"), format!("{:?}", call.phase.name()));
                if let Phase::AwaitingConfirmation { request, .. } = call.phase {
                    assert_eq!(at("/phase/request"), request.to_string());
                    let asked = value_at(&json, &format!("/requests/{request}/state"));
                    assert_eq!(asked.unwrap().as_str(), "\"open\"");
                }
                calls += 1;
            }
            assert_eq!(value["owed"].as_array().unwrap().len(), owed(session).len());
            assert_eq!(
                value["settled"].as_object().unwrap().len(),
                session.settled.len()
            );
            assert!(value["due"].is_null(), "a step leaves nothing due: {json}");
            if let Some(before) = &before {
                changed += assert_changes_lead(before, &json);
            }
            before = Some(json);
        }
    }
    assert!(calls > 500 && changed > 1_000, "{calls} and {changed}");
    // Within a batch, the decisions are due one after another.
    let recording = &generated()[0];
    let mut session = recording.start.clone();
    for (fact, next) in recording.facts.iter().zip(&recording.facts[1..]) {
        session = evolve(session, fact);
        let value: Value = serde_json::from_str(state_json(&session).as_str()).unwrap();
        let due = match next.event {
            Event::Decided(_) => Value::from(next.event.kind()),
            Event::Observed(_) => Value::Null,
        };
        assert_eq!(value["due"], due, "after {}", fact.seq);
    }
}

/// Asserts that the changes turn `before` into `after`, and returns their number.
fn assert_changes_lead(before: &Json, after: &Json) -> usize {
    let all = changes(before, after);
    let (mut value, after) = (before.to_value(), after.to_value());
    for change in &all {
        let (parent, name) = change.pointer.rsplit_once('/').unwrap();
        let name = name.replace("~1", "/").replace("~0", "~");
        let was = change.before.as_ref().map(Json::to_value);
        let is = change.after.as_ref().map(Json::to_value);
        let parent = value.pointer_mut(parent).unwrap();
        if change.pointer == "/owed" {
            let owed = parent["owed"].as_array_mut().unwrap();
            owed.retain(|it| Some(it) != was.as_ref());
            owed.extend(is);
            continue;
        }
        let members = parent.as_object_mut().unwrap();
        assert_eq!(members.get(&name), was.as_ref());
        match is {
            Some(is) => members.insert(name, is),
            None => members.remove(&name),
        };
    }
    // The owed effects have no order.
    let place = |it: &Value| {
        after["owed"]
            .as_array()
            .unwrap()
            .iter()
            .position(|is| is == it)
    };
    value["owed"].as_array_mut().unwrap().sort_by_key(place);
    assert_eq!(value, after);
    all.len()
}
