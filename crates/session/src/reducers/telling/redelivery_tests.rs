use serde_json::json;

use crate::testing::{History, Toolbox, history, toolbox};
use crate::*;

/// A running call that is newer than the last handle.
fn running() -> History {
    let tools = toolbox().plain("look").gated("pay");
    let opened = history().opened("support").attached(&tools);
    let connected = opened.connected().handle("h1");
    connected.call("c1", "look", json!({"n": 1})).started()
}

fn calls(history: &History) -> usize {
    history.session().calls.len() + history.session().settled.len()
}

/// The route of the last delivery, if there is one.
fn route(history: &History) -> Option<Route> {
    let deliveries = &history.session().deliveries;
    deliveries.last_key_value().map(|(_, it)| it.route)
}

#[test]
fn redelivered_open_call_continues_and_is_answered_by_id() {
    let again = running()
        .disconnected()
        .resumed()
        .call("c1", "look", json!({"n": 1}));
    assert_eq!(calls(&again), 1);
    let returned = again.returned(json!({}));
    let epoch = returned.epoch();
    assert_eq!(route(&returned), Some(Route::ToolResponse { epoch }));
    assert_eq!(
        returned
            .kinds()
            .iter()
            .filter(|it| **it == "call_started")
            .count(),
        1
    );
}

#[test]
fn redelivered_ended_call_is_answered_without_a_run() {
    let heard = running().returned(json!({"found": 7})).sent().heard();
    assert!(heard.session().deliveries.is_empty());
    let again = heard
        .disconnected()
        .resumed()
        .call("c1", "look", json!({"n": 1}));
    assert_eq!(calls(&again), 1);
    let epoch = again.epoch();
    assert_eq!(route(&again), Some(Route::ToolResponse { epoch }));
    assert_eq!(again.kinds().last(), Some(&"delivery_chosen"));
    assert!(again.sent().heard().session().deliveries.is_empty());
}

#[test]
fn redelivered_call_with_notified_end_does_not_run_again() {
    let tools = toolbox().plain("look").on_settled(OnSettled::Notify);
    let opened = history().opened("support").attached(&tools);
    let connected = opened.connected().handle("h1");
    let running = connected.call("c1", "look", json!({"n": 1})).started();
    let ended = running.disconnected().returned(json!({"found": 7}));
    assert_eq!(route(&ended), None);
    let again = ended.resumed().call("c1", "look", json!({"n": 1}));
    assert_eq!(calls(&again), 1);
    let epoch = again.epoch();
    assert_eq!(route(&again), Some(Route::ToolResponse { epoch }));
}

#[test]
fn redelivered_call_is_not_asked_about_again() {
    let tools = toolbox().gated("pay");
    let asked = history().opened("support").attached(&tools).connected();
    let asked = asked.handle("h1").call("c1", "pay", json!({})).asked();
    let again = asked.disconnected().resumed().call("c1", "pay", json!({}));
    assert_eq!(again.session().requests.len(), 1);
}

#[test]
fn other_arguments_or_another_name_are_another_call() {
    for (name, args) in [("look", json!({"n": 2})), ("pay", json!({"n": 1}))] {
        let other = running().disconnected().resumed().call("c1", name, args);
        assert_eq!(calls(&other), 2, "{name}");
    }
}

#[test]
fn on_a_fresh_conversation_the_same_id_is_another_call() {
    let fresh = running()
        .disconnected()
        .connected()
        .call("c1", "look", json!({"n": 1}));
    assert_eq!(calls(&fresh), 2);
}

#[test]
fn call_covered_by_handle_is_not_a_redelivery() {
    let covered = running().returned(json!({})).sent().heard().handle("h2");
    let other = covered
        .disconnected()
        .resumed()
        .call("c1", "look", json!({"n": 1}));
    assert_eq!(calls(&other), 2);
}

#[test]
fn cancelled_call_that_is_repeated_is_another_call() {
    let taken_back = running().taken_back("c1");
    let other = taken_back
        .disconnected()
        .resumed()
        .call("c1", "look", json!({"n": 1}));
    assert_eq!(calls(&other), 2);
}

#[test]
fn call_may_be_redelivered_twice_on_a_connection() {
    let again = running().disconnected().resumed();
    let again = again.call("c1", "look", json!({"n": 1}));
    let twice = again.call("c1", "look", json!({"n": 1}));
    assert_eq!(calls(&twice), 1);
    // The same holds on the next connection, as long as no newer handle covers the call.
    let third = twice.returned(json!({})).disconnected().resumed();
    assert_eq!(calls(&third.call("c1", "look", json!({"n": 1}))), 1);
}

#[test]
fn interim_response_is_sent_again_after_redelivery() {
    let paused = running().paused(Some(json!({"ticket": 17})));
    let heard = paused.sent().heard();
    assert!(heard.session().deliveries.is_empty());
    let again = heard
        .disconnected()
        .resumed()
        .call("c1", "look", json!({"n": 1}));
    let epoch = again.epoch();
    assert_eq!(route(&again), Some(Route::ToolResponse { epoch }));
    assert_eq!(calls(&again), 1);
}

#[test]
fn open_call_from_before_first_handle_can_be_redelivered() {
    let tools = toolbox().plain("look");
    let opened = history().opened("support").attached(&tools).connected();
    let called = opened.call("c1", "look", json!({})).started().handle("h1");
    let again = called
        .disconnected()
        .resumed()
        .call("c1", "look", json!({}));
    assert_eq!(calls(&again), 1);
}

#[test]
fn handle_does_not_cover_unsent_response() {
    let waiting = running().returned(json!({"found": 7})).handle("h2");
    let issued = waiting.session().deliveries.keys().next().copied();
    let covers = waiting
        .session()
        .resumption
        .as_ref()
        .map(|it| it.covers.next());
    assert!(issued.is_some());
    assert_eq!(covers, issued);
    let heard = waiting.sent().heard().disconnected().resumed();
    let again = heard.call("c1", "look", json!({"n": 1}));
    assert_eq!(calls(&again), 1);
}

#[test]
fn redelivery_keeps_content_chosen_by_hook() {
    let hooks = Hooks {
        on_tool_call: false,
        before_tool_response: true,
    };
    let tools = toolbox().gated("pay").hooks(hooks);
    let opened = history().opened("support").attached(&tools).connected();
    let denied = opened
        .handle("h1")
        .call("c1", "pay", json!({}))
        .asked()
        .denied("ann", Some("no"));
    let issued = denied.session().deliveries.keys().next().copied();
    let call = denied.call_seq();
    let answered = denied.observed(HookAnswered {
        hook: Hook::BeforeToolResponse,
        call,
        of: issued,
        response: Some(Json::of(&json!({"error": "not now"}))),
        failure: None,
        gated: None,
        by: None,
    });
    let heard = answered.sent().heard().disconnected().resumed();
    let again = heard.call("c1", "pay", json!({}));
    let wordings = again.session().deliveries.values().map(|it| it.wording);
    let wordings: Vec<_> = wordings
        .map(|it| matches!(it, Wording::Hooked(_)))
        .collect();
    assert_eq!(wordings, [true]);
}

#[test]
fn handle_does_not_cover_unconfirmed_response() {
    for first in [false, true] {
        let tools = toolbox().plain("look");
        let opened = history().opened("support").attached(&tools).connected();
        let before = if first { opened } else { opened.handle("h1") };
        let called = before.call("c1", "look", json!({})).started();
        let sent = called.returned(json!({"found": 7})).sent();
        let issued = sent.session().deliveries.keys().next().copied();
        let handle = sent.handle("h2");
        let resumption = handle.session().resumption.as_ref();
        let covers = resumption.map(|it| it.covers.next());
        assert_eq!(covers, issued);
        let again = handle.disconnected().resumed();
        assert_eq!(calls(&again.call("c1", "look", json!({}))), 1);
    }
}

#[test]
fn first_handle_does_not_cover_unsent_response() {
    let tools = toolbox().plain("look");
    let opened = history().opened("support").attached(&tools).connected();
    let called = opened.call("c1", "look", json!({})).started();
    let waiting = called.returned(json!({"found": 7})).handle("h1");
    let again = waiting
        .disconnected()
        .resumed()
        .call("c1", "look", json!({}));
    assert_eq!(calls(&again), 1);
}

/// A call that ended with an unknown outcome, which was found later.
fn reconciled(tools: &Toolbox) -> History {
    let opened = history().opened("support").attached(tools).connected();
    let called = opened.handle("h1").call("c1", "look", json!({"n": 1}));
    let unknown = called.started().disconnected().detached().attached(tools);
    let found = Command::ReconcileOutcome {
        call: unknown.call_seq(),
        name: "look".to_owned(),
        found: Finding::done(&json!({"found": 7})),
        by: Actor::embedder("ada"),
    };
    unknown.commanded(found)
}

#[test]
fn redelivered_call_gets_its_reconciled_outcome() {
    for choice in [OnSettled::Park, OnSettled::Notify] {
        let tools = toolbox().plain("look").on_settled(choice);
        let again = reconciled(&tools).resumed();
        let again = again.call("c1", "look", json!({"n": 1}));
        assert_eq!(calls(&again), 1);
        let epoch = again.epoch();
        let told = again.session().deliveries.iter();
        let told: Vec<_> = told.map(|(_, it)| (it.outcome, it.route)).collect();
        let by_id = (Outcome::Supplied, Route::ToolResponse { epoch });
        assert_eq!(told, [by_id], "{choice:?}");
        assert!(again.clone().sent().heard().session().deliveries.is_empty());
        // The same holds on the next connection, whether the finding was sent on this one or not.
        for last in [again.clone().sent().heard(), again.handle("h2")] {
            let lost = last.disconnected().resumed();
            let third = lost.call("c1", "look", json!({"n": 1}));
            assert_eq!(calls(&third), 1);
            let told = third.session().deliveries.values().map(|it| it.outcome);
            assert_eq!(told.collect::<Vec<_>>(), [Outcome::Supplied]);
        }
    }
}

#[test]
fn unknown_outcome_is_not_sent_again_once_reconciled() {
    let tools = toolbox().plain("look");
    let opened = history().opened("support").attached(&tools).connected();
    let called = opened.handle("h1").call("c1", "look", json!({"n": 1}));
    let unknown = called.started().detached().attached(&tools);
    let heard = unknown.sent().heard();
    let found = Command::ReconcileOutcome {
        call: heard.call_seq(),
        name: "look".to_owned(),
        found: Finding::failed("it never left"),
        by: Actor::embedder("ada"),
    };
    let told = heard.commanded(found).sent().heard();
    assert!(told.session().deliveries.is_empty());
    let again = told.disconnected().resumed();
    let again = again.call("c1", "look", json!({"n": 1}));
    let told = again.session().deliveries.values().map(|it| it.outcome);
    assert_eq!(told.collect::<Vec<_>>(), [Outcome::Failed]);
}

#[test]
fn cancelled_gated_call_is_asked_about_again_when_repeated() {
    let tools = toolbox().gated("pay");
    let opened = history().opened("support").attached(&tools).connected();
    let asked = opened.handle("h1").call("c1", "pay", json!({})).asked();
    let back = asked.taken_back("c1").disconnected().resumed();
    let again = back.call("c1", "pay", json!({})).asked();
    assert_eq!(calls(&again), 2);
}

#[test]
fn late_call_of_previous_connection_is_no_redelivery() {
    let stale = running();
    let epoch = stale.epoch();
    let resumed = stale.disconnected().resumed();
    let late = FunctionCallReceived {
        epoch,
        id: Some("c1".to_owned()),
        name: Some("look".to_owned()),
        args: Some(Json::of(&json!({"n": 1}))),
        malformed_args: None,
        invalid_args: None,
        sealed_args: Vec::new(),
        original_args: None,
        by: None,
        parent: None,
        beyond_max: None,
        key: None,
    };
    let here = resumed.epoch();
    let moved = resumed.clone().call("c1", "look", json!({"n": 1}));
    assert_eq!(moved.current().epoch, here);
    assert_eq!(calls(&resumed.observed(late)), 2);
}

#[test]
fn call_after_close_is_no_redelivery() {
    let closed = running().returned(json!({"found": 7})).sent().closed();
    let again = closed.disconnected().resumed();
    let again = again.call("c1", "look", json!({"n": 1}));
    assert!(again.session().deliveries.is_empty());
    assert_eq!(calls(&again), 2);
}

#[test]
fn reconciled_outcome_of_a_stream_ends_it_on_redelivery() {
    let tools = toolbox().streaming("look");
    let opened = history().opened("support").attached(&tools).connected();
    let called = opened.handle("h1").call("c1", "look", json!({"n": 1}));
    let told = called.started().yielded(json!({"part": 1})).sent().heard();
    let unknown = told.disconnected().detached().attached(&tools);
    let found = Command::ReconcileOutcome {
        call: unknown.call_seq(),
        name: "look".to_owned(),
        found: Finding::done(&json!({"found": 7})),
        by: Actor::embedder("ada"),
    };
    let again = unknown.commanded(found).resumed();
    let again = again.call("c1", "look", json!({"n": 1}));
    let told = again.session().deliveries.values();
    let told: Vec<_> = told.map(|it| (it.outcome, it.will_continue)).collect();
    assert_eq!(told, [(Outcome::Supplied, Some(false))]);
}
