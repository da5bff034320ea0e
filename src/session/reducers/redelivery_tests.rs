use serde_json::json;

use crate::session::*;
use crate::testing::{History, history, toolbox};

/// A running call that came after the newest handle.
fn running() -> History {
    let tools = toolbox().plain("look").gated("pay");
    let opened = history().opened("support").attached(&tools);
    let connected = opened.connected().handle("h1");
    connected.call("c1", "look", json!({"n": 1})).started()
}

fn calls(history: &History) -> usize {
    history.session().calls.len() + history.session().settled.len()
}

/// The last response on its way, if one is.
fn route(history: &History) -> Option<Route> {
    let deliveries = &history.session().deliveries;
    deliveries.last_key_value().map(|(_, it)| it.route)
}

#[test]
fn an_open_call_delivered_again_goes_on_and_is_answered_by_its_id() {
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
fn an_ended_call_delivered_again_is_answered_again_and_does_not_run() {
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
fn a_question_is_not_asked_again() {
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
fn what_the_handle_covers_is_not_delivered_again() {
    let covered = running().returned(json!({})).sent().handle("h2");
    let other = covered
        .disconnected()
        .resumed()
        .call("c1", "look", json!({"n": 1}));
    assert_eq!(calls(&other), 2);
}

#[test]
fn what_the_model_took_back_and_calls_again_is_another_call() {
    let taken_back = running().taken_back("c1");
    let other = taken_back
        .disconnected()
        .resumed()
        .call("c1", "look", json!({"n": 1}));
    assert_eq!(calls(&other), 2);
}

#[test]
fn a_call_delivered_again_may_come_twice_on_the_new_connection_too() {
    let again = running().disconnected().resumed();
    let again = again.call("c1", "look", json!({"n": 1}));
    let twice = again.call("c1", "look", json!({"n": 1}));
    assert_eq!(calls(&twice), 1);
    // And on the connection after that, as long as no newer handle covers it.
    let third = twice.returned(json!({})).disconnected().resumed();
    assert_eq!(calls(&third.call("c1", "look", json!({"n": 1}))), 1);
}
