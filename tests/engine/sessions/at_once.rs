//! A model that calls again as soon as it has a response: the next call arrives before the record
//! that the response was sent.

use std::sync::Arc;

use crate::surviving::SurvivingJournal;
use recount::ledger::Ledger;
use recount::prelude::*;
use recount::session::{Event, Observation, Seq};
use recount::testing::{Crash, CrashingJournal, ScriptedModel};

/// Sends "go" to a model with this script, and waits until its turn ends or the session does.
///
/// Returns the number of appends, and all records.
async fn told(script: &str) -> (usize, Vec<Event>) {
    let crash = Arc::new(Crash::never());
    let kept = SurvivingJournal::new();
    let journal = CrashingJournal::new(kept.clone(), &crash);
    let looks = T::simple("look_up", "Looks an order up", |_| async { Ok(json!({})) });
    let agent = Agent::new()
        .model("scripted")
        .tools(looks | T::end_session())
        .connect_to(ScriptedModel::parse(script).unwrap());
    let engine = Engine::in_memory().journal(Arc::new(journal));
    let engine = engine.agent("support", agent).open().await.unwrap();
    let live = engine.session("support").connect().await.unwrap();
    let mut updates = live.subscribe();
    live.send_text("go").await.unwrap();
    let _said = updates.turn().await;
    let appends = crash.batches();
    let ledger = Ledger::new(kept);
    let facts = ledger.facts(live.session_id(), Seq(1), 1_000).await;
    let events = facts.unwrap().into_iter().map(|fact| fact.event);
    (appends, events.collect())
}

fn call(id: &str, name: &str, args: &Value) -> String {
    json!({"call": [{"id": id, "name": name, "args": args}]}).to_string()
}

/// The number of appends in a conversation with this number of calls.
async fn appends_of(calls: usize) -> usize {
    let look_up = |n: usize| call(&format!("c{n}"), "look_up", &json!({}));
    let first = look_up(1);
    let mut script = format!(r#"{{"on": {{"text": "go"}}, "send": [{first}]}}"#);
    for n in 1..=calls {
        let next = if n == calls {
            r#"{"say": "That is all."}"#.to_owned()
        } else {
            look_up(n + 1)
        };
        script += &format!("\n{{\"on\": {{\"responses_to\": [\"c{n}\"]}}, \"send\": [{next}]}}");
    }
    told(&script).await.0
}

#[tokio::test]
async fn sent_response_is_recorded_with_the_next_call() {
    assert_eq!(appends_of(8).await - appends_of(3).await, 5 * 2);
}

#[tokio::test]
async fn a_call_behind_the_last_answer_of_a_session_does_not_begin() {
    let ends = json!({"reason": "bye", "confirmed": true});
    let (ends, late) = (
        call("e", "endSession", &ends),
        call("late", "look_up", &json!({})),
    );
    let script = format!(
        "{{\"on\": {{\"text\": \"go\"}}, \"send\": [{ends}]}}\n{{\"on\": {{\"responses_to\": \
        [\"e\"]}}, \"send\": [{late}]}}"
    );
    let (_, events) = told(&script).await;
    let closed = |it: &&Event| matches!(it, Event::Observed(Observation::SessionClosed(_)));
    assert_eq!(events.iter().filter(closed).count(), 1);
    let called = |it: &&Event| matches!(it, Event::Observed(Observation::FunctionCallReceived(_)));
    assert_eq!(events.iter().filter(called).count(), 1);
}
