//! The permission under which a call starts, and whether it still holds at the start.

use serde_json::json;

use crate::testing::{History, Toolbox, history, toolbox};
use crate::*;

fn tools() -> Toolbox {
    toolbox().gated("pay").plain("look")
}

/// The last request on record.
fn question(history: &History) -> Option<ConfirmationRequested> {
    let mut facts = history.facts().iter().rev();
    facts.find_map(|fact| match &fact.event {
        Event::Decided(decision) => decision.question().cloned(),
        Event::Observed(_) => None,
    })
}

#[test]
fn waiver_holds_only_while_gates_are_waived() {
    let waived = tools().gates_waived("a test bench");
    let support = history()
        .opened("support")
        .attached(&waived.clone().running_max(0));
    let ready = support.connected().call("c1", "pay", json!({}));
    assert_eq!(ready.current().phase.name(), "ready");
    let still = ready.clone().attached(&waived).started();
    assert_eq!(still.attempt(), 1);
    let enforced = ready.attached(&tools()).asked();
    assert_eq!(question(&enforced).map(|it| it.about), Some(About::Gate));
    assert_eq!(enforced.attempt(), 0);
}

#[test]
fn unused_approval_is_reopened_as_a_gate() {
    let support = history().opened("support").attached(&tools()).connected();
    let ready = support
        .detached()
        .call("c1", "pay", json!({}))
        .granted("ada");
    let changed = ready.attached(&tools().changed("pay"));
    let asked = question(&changed.asked()).map(|it| (it.about, it.hint));
    assert_eq!(asked, Some((About::Gate, Some("May it pay?".to_owned()))));
}

#[test]
fn reopened_tool_question_keeps_its_text() {
    let support = history().opened("support").attached(&tools()).connected();
    let asks = support.call("c1", "look", json!({})).asks("Which one?");
    let ready = asks.detached().granted("ada");
    assert_eq!(ready.current().phase.name(), "ready");
    let changed = ready.attached(&tools().changed("look"));
    let asked = question(&changed.asked()).map(|it| (it.about, it.hint));
    assert_eq!(asked, Some((About::Tool, Some("Which one?".to_owned()))));
}

fn desk() -> Toolbox {
    toolbox()
        .gated("clerk")
        .agent("clerk", ["look"])
        .plain("look")
}

/// A history in which the agent waits for the one call that it made.
fn waiting(tools: &Toolbox) -> History {
    let support = history().opened("support").attached(tools).connected();
    let clerk = support.call("c1", "clerk", json!({}));
    clerk.asks_model().model_calls(&["look"]).started()
}

/// The agent's call after its own call has ended under other terms.
fn gone_on(history: History, tools: &Toolbox) -> History {
    let parent = history.current().parent.unwrap_or_default();
    let other = history.attached(tools);
    other.at_call(parent)
}

#[test]
fn continuing_agent_keeps_its_permission() {
    let waived = desk().gates_waived("a test bench");
    let back = gone_on(waiting(&waived), &waived);
    assert_eq!(back.started().attempt(), 2);
    let plain = toolbox().agent("clerk", ["look"]).plain("look");
    let back = gone_on(waiting(&plain), &plain);
    assert_eq!(back.started().attempt(), 2);
}

#[test]
fn waived_agent_is_gated_once_gates_are_enforced() {
    let waived = desk().gates_waived("a test bench");
    let back = gone_on(waiting(&waived), &desk());
    assert!(question(&back.asked()).is_some());
}

#[test]
fn ungated_agent_continues_once_gates_are_enforced() {
    let plain = toolbox().agent("clerk", ["look"]).plain("look");
    let waived = plain.clone().gates_waived("a test bench");
    let back = gone_on(waiting(&waived), &plain);
    assert_eq!(back.started().attempt(), 2);
}

#[test]
fn reply_without_calls_keeps_the_run_running() {
    let plain = toolbox().agent("clerk", ["look"]).plain("look");
    let support = history().opened("support").attached(&plain).connected();
    let clerk = support.call("c1", "clerk", json!({})).asks_model();
    let done = clerk.llm_replied(0);
    let replied = clerk.observed(done).started();
    assert_eq!(replied.attempt(), 1);
}

#[test]
fn gate_that_holds_later_does_not_stop_running_agent() {
    let tools = toolbox().agent("clerk", ["look"]).plain("look");
    let tools = tools.policy("clerk", |policy| {
        policy.confirm = true;
        policy.gate_terms.when = Some(S::is_true("strict"));
    });
    let waits = waiting(&tools).state("strict", json!(true));
    let parent = waits.current().parent.unwrap_or_default();
    let back = waits.returned(json!({})).at_call(parent);
    assert_eq!(back.started().attempt(), 2);
}
