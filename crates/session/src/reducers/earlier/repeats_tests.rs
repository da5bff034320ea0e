#![expect(
    clippy::indexing_slicing,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::{Value, json};

use crate::policies::policy::Repeats;
use crate::testing::{History, Toolbox, history, toolbox};
use crate::*;

fn tools() -> Toolbox {
    let once = |policy: &mut ToolPolicy| policy.repeats = Repeats::PendingTicket;
    let tools = toolbox().long_running("order").gated("pay");
    tools.policy("order", once).policy("pay", once)
}

fn support() -> History {
    history().opened("support").attached(&tools()).connected()
}

fn verdict(history: &History) -> PolicyDecided {
    let decided = history.facts().iter().rev().find_map(|fact| {
        if let Event::Decided(Decision::PolicyDecided(it)) = &fact.event {
            Some(it.clone())
        } else {
            None
        }
    });
    decided.unwrap_or_else(|| unreachable!("every call is judged"))
}

fn response(history: &History) -> Value {
    let issued = history.facts().iter().rev().find_map(|fact| {
        if let Event::Decided(Decision::ResponseIssued(it)) = &fact.event {
            it.response.as_ref().map(Json::to_value)
        } else {
            None
        }
    });
    issued.unwrap_or_default()
}

#[test]
fn repeat_of_pending_call_gets_its_ticket_and_does_not_run() {
    let paused = support().call("c1", "order", json!({"n": 1, "m": 2}));
    let paused = paused.started().paused(None);
    let first = paused.call_seq();
    let again = paused.call("c2", "order", json!({"m": 2, "n": 1}));
    let judged = verdict(&again);
    assert_eq!(
        (judged.verdict, judged.rule),
        (Verdict::Refused, Rule::Pending)
    );
    assert_eq!(judged.inputs, Some(Json::of(&json!({"of": first.0}))));
    let ticket = again.session().id.call_id(first).to_string();
    let words = json!({"status": "pending", "tool": "order", "call": "c1", "ticket": ticket});
    assert_eq!(response(&again), words);
    let ended = again.session().settled[&again.call_seq()];
    assert_eq!((ended.outcome, ended.attempts), (Outcome::Refused, 0));
    // The outcome is sent for the first call, and no call stays open.
    let supplied = again.about("c1").supplied(json!({"shipped": true}));
    assert!(supplied.session().calls.is_empty());
}

#[test]
fn call_is_repeat_in_every_pending_phase() {
    let asked = support().call("c1", "pay", json!({"cents": 1}));
    let again = asked.clone().call("c2", "pay", json!({"cents": 1}));
    assert_eq!(verdict(&again).rule, Rule::Pending);
    let running = asked.granted("ada").started();
    let again = running.call("c2", "pay", json!({"cents": 1}));
    assert_eq!(verdict(&again).rule, Rule::Pending);
    let cut_off = again.about("c1").detached();
    let again = cut_off.call("c3", "pay", json!({"cents": 1}));
    assert_eq!(verdict(&again).rule, Rule::Confirm);
}

#[test]
fn only_equal_open_model_calls_are_repeats() {
    let paused = support()
        .call("c1", "order", json!({"n": 1}))
        .started()
        .paused(None);
    let other = paused.clone().call("c2", "order", json!({"n": 1.0}));
    assert_eq!(verdict(&other).rule, Rule::Default);
    let own = paused.clone().program_call("order", json!({"n": 1}));
    assert_eq!(verdict(&own).rule, Rule::Default);
    let ended = paused
        .clone()
        .supplied(json!({}))
        .call("c2", "order", json!({"n": 1}));
    assert_eq!(verdict(&ended).rule, Rule::Default);
    let runs = paused.attached(&toolbox().long_running("order"));
    let second = runs.call("c2", "order", json!({"n": 1}));
    assert_eq!(verdict(&second).rule, Rule::Default);
}

#[test]
fn call_from_before_repeat_policy_has_no_ticket() {
    let plain = toolbox().long_running("order");
    let support = history().opened("support").attached(&plain).connected();
    let first = support
        .call("c1", "order", json!({}))
        .started()
        .paused(None);
    let second = first.attached(&tools()).call("c2", "order", json!({}));
    assert_eq!(verdict(&second).rule, Rule::Default);
    let third = second.started().paused(None).call("c3", "order", json!({}));
    assert_eq!(verdict(&third).rule, Rule::Pending);
}
