use serde_json::json;

use crate::testing::{History, Toolbox, history, toolbox};
use crate::*;

fn with(tools: &Toolbox) -> History {
    history().opened("support").attached(tools).connected()
}

fn look(history: History, n: u32) -> History {
    history.call(&format!("c{n}"), "look", json!({"n": n}))
}

/// Calls `look` once for each number, and each call returns.
fn looks(history: History, calls: impl IntoIterator<Item = u32>) -> History {
    calls.into_iter().fold(history, |history, n| {
        look(history, n).started().returned(json!({}))
    })
}

/// The verdict on the last call, with its inputs.
fn verdict(history: &History) -> (Verdict, Rule, Option<String>) {
    let decided = history
        .facts()
        .iter()
        .rev()
        .find_map(|fact| match &fact.event {
            Event::Decided(Decision::PolicyDecided(it)) => Some(it.clone()),
            Event::Decided(_) | Event::Observed(_) => None,
        });
    let decided = decided.unwrap_or_else(|| unreachable!("a call has a verdict"));
    let inputs = decided.inputs.map(|it| it.to_string());
    (decided.verdict, decided.rule, inputs)
}

fn used(session: u32, minute: u32) -> Option<String> {
    Some(format!(
        r#"{{"used":{{"session":{session},"minute":{minute}}}}}"#
    ))
}

fn allowed(session: u32, minute: u32) -> (Verdict, Rule, Option<String>) {
    (Verdict::Allowed, Rule::Default, used(session, minute))
}

fn refused(session: u32, minute: u32) -> (Verdict, Rule, Option<String>) {
    (Verdict::Refused, Rule::Limit, used(session, minute))
}

fn restarted(history: History, tools: &Toolbox) -> History {
    let library = history.session().library().clone();
    let new = Session::with_library(history.session().id, library);
    assert_eq!(
        &history.facts().iter().fold(new, evolve),
        history.session(),
        "the fold is the live session"
    );
    history
        .detached()
        .attached(tools)
        .disconnected()
        .connected()
}

#[test]
fn session_limit_refuses_further_calls() {
    let twice = toolbox().plain("look").per_session("look", 2);
    let first = look(with(&twice), 1);
    assert_eq!(verdict(&first), allowed(0, 0));
    let second = look(first.returned(json!({})).later(3_600_000), 2);
    assert_eq!(verdict(&second).2, used(1, 0));
    let third = look(second, 3);
    assert_eq!(verdict(&third), refused(2, 0));
    let last = third.facts().last().map(|fact| fact.event.clone());
    let Some(Event::Decided(Decision::ResponseIssued(told))) = last else {
        unreachable!("a refused call is answered");
    };
    let error = json!({
        "error": "\"look\" may be called 2 times in a session, and was",
        "kind": "limit_reached",
    });
    assert_eq!(told.response.map(|it| it.to_value()), Some(error));
}

#[test]
fn a_limit_holds_across_restarts() {
    let twice = toolbox().plain("look").per_session("look", 2);
    let one = restarted(looks(with(&twice), [1]), &twice);
    let two = restarted(looks(one, [2]), &twice);
    assert_eq!(verdict(&look(two, 3)), refused(2, 0));
    let twice = toolbox().plain("look").per_minute("look", 2);
    let two = restarted(looks(with(&twice), [1, 2]), &twice);
    let refused_once = look(two.later(59_999), 3);
    assert_eq!(verdict(&refused_once), refused(2, 2));
    // The refused call does not count, and the first calls are a minute old now.
    let later = restarted(refused_once.later(1), &twice);
    assert_eq!(verdict(&look(later, 4)), allowed(2, 0));
}

#[test]
fn minute_limit_uses_a_sliding_window() {
    let twice = toolbox().plain("look").per_minute("look", 2);
    let one = looks(with(&twice), [1]).later(40_000);
    let two = looks(one, [2]).later(20_000);
    // The first call is a minute old and counts no more. The second call counts.
    let three = look(two, 3);
    assert_eq!(verdict(&three), allowed(2, 1));
    assert_eq!(verdict(&look(three.later(39_999), 4)), refused(3, 2));
}

#[test]
fn stopped_clock_does_not_free_the_minute_limit() {
    let twice = toolbox().plain("look").per_minute("look", 2);
    let mut calls = looks(with(&twice), [1, 2]);
    for n in 3..6 {
        calls = look(calls, n);
        assert_eq!(verdict(&calls), refused(2, 2));
    }
}

#[test]
fn clock_going_back_does_not_free_the_minute_limit() {
    let twice = toolbox().plain("look").per_minute("look", 2);
    let calls = looks(with(&twice), [1, 2]);
    let call = FunctionCallReceived {
        epoch: calls.epoch(),
        id: Some("c3".to_owned()),
        name: Some("look".to_owned()),
        args: None,
        malformed_args: None,
        invalid_args: None,
        sealed_args: Vec::new(),
        original_args: None,
        by: None,
        parent: None,
        beyond_max: None,
        key: None,
    };
    let earlier = calls.now().before_ms(3_600_000);
    let done = step(calls.session().clone(), earlier, call.into());
    let refused = done.ok().is_some_and(|done| {
        let decided = |fact: &Fact| {
            let Event::Decided(Decision::PolicyDecided(it)) = &fact.event else {
                return false;
            };
            it.rule == Rule::Limit
        };
        done.facts.iter().any(decided)
    });
    assert!(refused);
}

#[test]
fn limit_of_zero_refuses_every_call() {
    let never = toolbox().plain("look").per_minute("look", 0);
    assert_eq!(verdict(&look(with(&never), 1)), refused(0, 0));
    let never = toolbox().plain("look").per_session("look", 0);
    assert_eq!(verdict(&look(with(&never), 1)), refused(0, 0));
}

#[test]
fn limits_are_per_tool_and_unlimited_tools_record_no_use() {
    let tools = toolbox().plain("look").per_session("look", 1).plain("find");
    let both = looks(with(&tools), [1]).call("c2", "find", json!({}));
    assert_eq!(verdict(&both), (Verdict::Allowed, Rule::Default, None));
}

#[test]
fn a_reused_result_does_not_count() {
    let tools = toolbox()
        .plain("look")
        .cached("look")
        .per_session("look", 2);
    let mut same = with(&tools)
        .call("c1", "look", json!({}))
        .returned(json!({}));
    for id in ["c2", "c3", "c4"] {
        same = same.call(id, "look", json!({}));
        assert_eq!(verdict(&same).1, Rule::Cached);
    }
    assert_eq!(verdict(&look(same, 5)), allowed(1, 0));
}

#[test]
fn denied_call_counts_towards_limit() {
    let once = toolbox().gated("look").per_session("look", 1);
    let denied = look(with(&once), 1).denied("ada", None);
    assert_eq!(verdict(&look(denied, 2)), refused(1, 0));
}

#[test]
fn call_that_is_retried_counts_once() {
    let tools = toolbox()
        .plain("look")
        .retried("look", 3, 1)
        .per_session("look", 2);
    let again = look(with(&tools), 1)
        .failed(json!({}))
        .timed_out()
        .returned(json!({}));
    assert_eq!(verdict(&look(again, 2)), allowed(1, 0));
}

#[test]
fn session_limit_declared_later_counts_earlier_calls() {
    let free = toolbox().plain("look");
    let limited = toolbox().plain("look").per_session("look", 2);
    let calls = looks(with(&free), [1, 2]).attached(&limited);
    assert_eq!(verdict(&look(calls, 3)), refused(2, 0));
    // A limit per minute counts only calls since its declaration.
    let limited = toolbox().plain("look").per_minute("look", 1);
    let calls = looks(with(&free), [1, 2]).attached(&limited);
    let one = look(calls, 3);
    assert_eq!(verdict(&one), allowed(2, 0));
    assert_eq!(verdict(&look(one, 4)), refused(3, 1));
}

#[test]
fn open_calls_beyond_the_limit_are_refused() {
    let two = toolbox().gated("look").open_calls_max(2);
    let asked = look(look(with(&two), 1), 2);
    assert_eq!(verdict(&asked).0, Verdict::Ask);
    let third = look(asked.clone(), 3);
    assert_eq!(verdict(&third), (Verdict::Refused, Rule::Limit, None));
    // The third call is answered at once, and the others stay open.
    assert_eq!(third.session().calls.len(), 2);
    assert_eq!(third.kinds().last(), Some(&"response_issued"));
    // A call that has ended frees its place.
    assert_eq!(verdict(&look(asked.denied("ada", None), 4)).0, Verdict::Ask);
}

#[test]
fn open_calls_are_unlimited_by_default() {
    let asked = (1..=300).fold(with(&toolbox().gated("look")), look);
    assert_eq!(asked.session().calls.len(), 300);
}

#[test]
fn calls_beyond_the_message_limit_are_refused() {
    let calls = with(&toolbox().plain("look"));
    let call = FunctionCallReceived {
        epoch: calls.epoch(),
        id: Some("c1".to_owned()),
        name: Some("look".to_owned()),
        args: None,
        malformed_args: None,
        invalid_args: None,
        sealed_args: Vec::new(),
        original_args: None,
        by: None,
        parent: None,
        beyond_max: Some(128),
        key: None,
    };
    let refused = calls.observed(call);
    assert_eq!(verdict(&refused), (Verdict::Refused, Rule::Limit, None));
    assert_eq!(refused.kinds().last(), Some(&"response_issued"));
}
