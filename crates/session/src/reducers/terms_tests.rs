use serde_json::json;

use crate::testing::{History, Toolbox, given, history, toolbox};
use crate::*;

fn tools() -> Toolbox {
    let tools = toolbox()
        .plain("look")
        .gated("pay")
        .plain("fetch")
        .retried("fetch", 2, 3);
    tools.long_running("ship").agent("clerk", ["look", "fetch"])
}

fn attached() -> History {
    history().opened("support").attached(&tools()).connected()
}

#[test]
fn changed_catalog_doubts_nothing() {
    let looking = attached().call("c1", "look", json!({})).started();
    let (call, attempt) = (looking.call_seq(), looking.attempt());
    let runner = looking.session().runner;
    for tools in [tools().plain("more"), toolbox(), toolbox().gated("look")] {
        let changed = looking.clone().tools_changed(&tools);
        assert_eq!(changed.session().runner, runner);
        assert_eq!(changed.current().phase, looking.current().phase);
        assert_eq!(changed.attempt(), attempt);
        assert_eq!(owed(changed.session()), owed(looking.session()));
        let returned = changed.returned(json!({"found": 1}));
        let settled = returned.session().settled.get(&call);
        assert_eq!(settled.map(|it| it.outcome), Some(Outcome::Returned));
    }
}

#[test]
fn changed_catalog_leaves_agents_and_paused_calls() {
    let clerk = attached().call("c1", "clerk", json!({})).asks_model();
    let looks = clerk.model_calls(&["look"]).started();
    let ships = looks.call("c2", "ship", json!({})).started().paused(None);
    let before = ships.session().calls.clone();
    let changed = ships.tools_changed(&tools().plain("more"));
    assert_eq!(changed.session().calls, before);
}

#[test]
fn added_tool_is_called_and_removed_one_is_unknown() {
    let refused = |history: &History| {
        let settled = history.session().settled.get(&history.call_seq());
        settled.map(|it| it.outcome) == Some(Outcome::Refused)
    };
    let before = attached().call("c1", "more", json!({}));
    assert!(refused(&before));
    let changed = before.tools_changed(&toolbox().plain("more"));
    let added = changed.call("c2", "more", json!({})).started();
    assert!(refused(&added.call("c3", "look", json!({}))));
}

#[test]
fn approved_call_is_asked_anew_after_a_changed_contract() {
    let limited = tools().running_max(1);
    let support = history().opened("support").attached(&limited).connected();
    let busy = support.call("c1", "look", json!({})).started();
    let approved = busy.call("c2", "pay", json!({})).asked().granted("ada");
    let (busy, request) = (approved.clone().about("c1"), approved.call_seq());
    let reworded = busy
        .clone()
        .tools_changed(&limited.clone().changed("pay"))
        .returned(json!({}))
        .about("c2");
    assert_ne!(reworded.asked().request(), request);
    let same = busy
        .tools_changed(&limited.plain("more"))
        .returned(json!({}))
        .about("c2");
    let _ = same.started();
}

/// The tool's own question names the contract of its time, which no one has approved.
#[test]
fn question_inside_a_run_approves_no_changed_contract() {
    let tools = tools().in_doubt("pay", InDoubt::Retry);
    let support = history().opened("support").attached(&tools).connected();
    let approved = support.call("c1", "pay", json!({})).asked().granted("ada");
    let changed = tools.clone().changed("pay");
    let runs = approved.started().tools_changed(&changed);
    let asked = runs.asks_in_place("To whom?").asked();
    for waited in [
        asked.clone(),
        asked.clone().granted("bob"),
        asked.timed_out(),
    ] {
        let again = waited.detached().attached(&changed);
        assert_eq!(again.asked().attempt(), 1);
    }
}

#[test]
fn open_question_follows_the_changed_contract() {
    let asked = attached().call("c1", "pay", json!({})).asked();
    let request = asked.request();
    let same = asked.clone().tools_changed(&tools().plain("more"));
    assert_eq!(same.request(), request);
    let gone = asked.clone().tools_changed(&toolbox().plain("look"));
    assert_eq!(gone.request(), request);
    let reworded = asked.tools_changed(&tools().changed("pay"));
    assert_ne!(reworded.request(), request);
    let superseded = &reworded.session().requests[&request].state;
    assert!(matches!(superseded, RequestState::Superseded { .. }));
}

#[test]
fn ready_call_of_a_removed_tool_waits_for_it() {
    let limited = tools().running_max(1);
    let support = history().opened("support").attached(&limited).connected();
    let busy = support.call("c1", "look", json!({})).started();
    let waits = busy.call("c2", "fetch", json!({})).about("c1");
    let gone = waits
        .tools_changed(&toolbox().plain("look").running_max(1))
        .returned(json!({}))
        .about("c2");
    assert!(matches!(gone.current().phase, Phase::Ready { .. }));
    let _ = gone.tools_changed(&limited).started();
}

#[test]
fn result_of_the_former_tool_is_not_shared() {
    let tools = toolbox().plain("find").cached("find");
    let support = history().opened("support").attached(&tools).connected();
    let twice = support
        .call("c1", "find", json!({}))
        .started()
        .call("c2", "find", json!({}));
    assert!(matches!(twice.current().phase, Phase::Ready { .. }));
    let same = twice.clone().tools_changed(&tools.clone().plain("more"));
    let shared = same.about("c1").returned(json!({"n": 1}));
    assert!(shared.session().calls.is_empty());
    let changed = twice.tools_changed(&tools.changed("find"));
    let runs = changed.about("c2").started();
    let one = runs.about("c1").returned(json!({"n": 1}));
    let third = one.call("c3", "find", json!({}));
    assert!(!third.kinds().contains(&"result_reused"));
}

#[test]
fn retry_waits_through_a_changed_catalog() {
    let failed = attached().call("c1", "fetch", json!({})).started();
    let waits = failed.failed(json!({"error": "busy"}));
    assert!(matches!(waits.current().phase, Phase::Retrying { .. }));
    let changed = waits.tools_changed(&tools().plain("more"));
    let again = changed.timed_out().started();
    assert_eq!(again.attempt(), 2);
}

#[test]
fn program_gate_is_decided_by_the_new_terms() {
    let asks = toolbox().plain("pay").gated_by_program("pay");
    let support = history().opened("support").attached(&asks).connected();
    let waits = support.call("c1", "pay", json!({}));
    assert_eq!(waits.current().phase, Phase::AwaitingVerdict);
    let _ = waits.clone().tools_changed(&toolbox().gated("pay")).asked();
    let _ = waits.tools_changed(&toolbox().plain("pay")).started();
}

#[test]
fn question_of_a_waiting_run_stays() {
    let asks = attached().call("c1", "look", json!({})).started();
    let waits = asks.asks_in_place("and now?").asked();
    let request = waits.request();
    for tools in [tools().changed("look"), toolbox().plain("more")] {
        let changed = waits.clone().tools_changed(&tools);
        assert_eq!(changed.request(), request);
        let _ = changed.granted("ada").started();
    }
}

#[test]
fn tool_that_is_gone_cannot_ask() {
    let looks = attached().call("c1", "look", json!({})).started();
    let gone = looks.tools_changed(&toolbox().plain("more"));
    let runs_on = gone.clone().asks_in_place("and now?").started();
    assert!(runs_on.session().requests.is_empty());
    // A run that ends with its question waits for the tool.
    let asks = gone.asks("and now?");
    assert_eq!(asks.current().phase.waits_for(), WaitsFor::Runner);
    let _ = asks.tools_changed(&tools()).asked();
}

#[test]
fn gates_of_the_attachment_stay() {
    let waived = toolbox().gated("pay").gates_waived("a test");
    let support = history().opened("support").attached(&waived).connected();
    let changed = support.tools_changed(&toolbox().gated("pay").gated("refund"));
    let runs = changed.call("c1", "refund", json!({})).started();
    assert!(runs.kinds().contains(&"gate_waived"));
    assert_eq!(runs.session().rules, 2);
}

#[test]
fn catalog_without_a_runner_changes_nothing() {
    let detached = attached().detached();
    let before = detached.session().clone();
    let mut library = detached.session().library().clone();
    let changed = toolbox().plain("more").taken_over(&mut library);
    given(&detached).when(changed.clone()).then([]);
    let after = detached.observed(changed);
    assert_eq!(after.session().terms, before.terms);
    assert_eq!(after.session().rules, before.rules);
}

#[test]
fn catalog_change_keeps_a_drain() {
    let draining = attached().draining();
    let changed = draining.tools_changed(&tools());
    assert!(changed.session().draining);
    let waits = changed.call("c1", "look", json!({}));
    assert!(matches!(waits.current().phase, Phase::Ready { .. }));
}
