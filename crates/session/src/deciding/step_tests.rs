//! Properties of every step, for any topic.

use serde_json::json;

use super::step::step_in_place;
use crate::testing::{History, history, toolbox};
use crate::*;

fn support() -> History {
    let tools = toolbox().plain("look").gated("pay");
    history().opened("support").attached(&tools).connected()
}

/// The cause of the last event of this kind.
fn cause(history: &History, kind: &str) -> Option<Seq> {
    let mut facts = history.facts().iter().rev();
    facts.find(|fact| fact.event.kind() == kind)?.cause
}

#[test]
fn an_observation_names_the_record_that_it_is_about() {
    let called = support().call("c1", "look", json!({})).started();
    let (call, epoch) = (called.call_seq(), called.epoch());
    assert_eq!(cause(&called, "connected"), None);
    assert_eq!(cause(&called, "function_call_received"), None);
    let returned = called.clone().returned(json!({}));
    assert_eq!(cause(&returned, "tool_returned"), Some(call));
    let response = returned.session().head;
    let sent = returned.sent();
    assert_eq!(cause(&sent, "responses_sent"), Some(response));
    assert_eq!(
        cause(&sent.clone().disconnected(), "disconnected"),
        Some(epoch)
    );
    assert_eq!(
        cause(&called.clone().cancelled(), "operator_cancelled"),
        Some(call)
    );
    let asked = support().call("c1", "pay", json!({})).asked();
    let request = asked.request();
    assert_eq!(
        cause(&asked.granted("ada"), "confirmation_answered"),
        Some(request)
    );
    assert_eq!(cause(&called.closed(), "session_closed"), None);
}

#[test]
fn cause_must_be_on_record() {
    let support = support();
    let about = |epoch: Seq| Disconnected {
        epoch,
        code: None,
        reason: "gone".to_owned(),
    };
    let head = support.session().head;
    for (epoch, expected) in [(Seq(0), None), (head, Some(head)), (head.next(), None)] {
        let gone = support.clone().observed(about(epoch));
        assert_eq!(cause(&gone, "disconnected"), expected, "{epoch}");
    }
}

#[test]
fn observation_names_its_actor_if_known() {
    let ada = Actor::embedder("ada");
    let answered = Observation::from(SessionClosed {
        by: ada.clone(),
        reason: "done".to_owned(),
    });
    assert_eq!(
        (answered.actor(), answered.by()),
        (ActorKind::Person, Some(&ada))
    );
    let heard = Observation::from(TurnCompleted {
        epoch: Seq(3),
        reason: None,
    });
    assert_eq!((heard.actor(), heard.by()), (ActorKind::Model, None));
}

#[test]
fn runner_record_names_objects_and_rules() {
    let mut library = Library::default();
    let tools = toolbox().plain("look");
    let attached = tools.attached("support", &mut library);
    let objects = [tools.catalog().hash(), tools.policies().hash()];
    let attached = Observation::from(RunnerAttached {
        rules: 7,
        ..attached
    });
    assert_eq!(
        (attached.objects(), attached.rules()),
        (objects.to_vec(), Some(7))
    );
    let opened = Observation::from(SessionOpened {
        agent: "support".to_owned(),
        external_id: None,
        on_behalf_of: None,
        labels: Default::default(),
        rules: 9,
        program: "test".to_owned(),
    });
    assert_eq!((opened.objects(), opened.rules()), (vec![], Some(9)));
    let draining = Observation::from(RunnerDraining {
        reason: "deploy".to_owned(),
    });
    assert_eq!((draining.objects(), draining.rules()), (vec![], None));
}

#[test]
fn one_observation_may_end_a_hundred_calls() {
    let mut asked = support();
    for call in 0..100 {
        asked = asked.call(&format!("c{call}"), "pay", json!({})).asked();
    }
    let closed = asked.closed();
    assert!(closed.session().calls.is_empty());
    assert_eq!(closed.session().settled.len(), 100);
}

#[test]
fn earlier_facts_do_not_count_towards_step_bound() {
    let called = support().call("c1", "look", json!({})).started();
    let (mut session, mut facts) = (called.session().clone(), Vec::new());
    for _ in 0..20 {
        facts.extend(called.facts().iter().cloned());
    }
    let (before, at) = (facts.len(), called.now());
    let returned = called.tool_returned(false, &json!({}));
    let done = step_in_place(&mut session, at, returned.into(), &mut facts);
    assert_eq!(done, Ok(()));
    let kinds: Vec<&str> = facts
        .iter()
        .skip(before)
        .map(|it| it.event.kind())
        .collect();
    assert_eq!(kinds, ["tool_returned", "response_issued"]);
}

#[test]
fn timestamps_saturate() {
    let last_whole = i64::MAX as u64 / 1000;
    let whole = Timestamp((i64::MAX / 1000) * 1000);
    assert_eq!(Timestamp(0).after_ms(last_whole), whole);
    assert_eq!(Timestamp(0).after_ms(last_whole + 1), Timestamp(i64::MAX));
    assert_eq!(Timestamp(0).after_ms(u64::MAX), Timestamp(i64::MAX));
    assert_eq!(Timestamp(1).after_ms(last_whole + 1), Timestamp(i64::MAX));
    assert_eq!(Timestamp(1_000).before_ms(1), Timestamp(0));
    assert_eq!(Timestamp(i64::MIN).before_ms(u64::MAX), Timestamp(i64::MIN));
}
