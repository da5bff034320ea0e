#![expect(
    clippy::indexing_slicing,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::json;

use crate::testing::{History, given, history, toolbox};
use crate::*;

fn attached() -> History {
    let tools = toolbox().plain("look").gated("pay").streaming("watch");
    history().opened("support").attached(&tools)
}

fn settled(history: &History) -> Outcome {
    history.session().settled[&history.call_seq()].outcome
}

/// The routes of all recorded responses.
fn routes(history: &History) -> Vec<Route> {
    let facts = history.facts().iter();
    let route = |fact: &Fact| match &fact.event {
        Event::Decided(Decision::ResponseIssued(it)) => Some(it.route),
        Event::Decided(_) | Event::Observed(_) => None,
    };
    facts.filter_map(route).collect()
}

#[test]
fn program_call_needs_no_connection() {
    let running = attached().program_call("look", json!({})).started();
    let (call, of) = (running.call_seq(), running.session().head.next());
    given(&running)
        .when(running.tool_returned(false, &json!({"found": 1})))
        .then([ResponseIssued {
            call,
            outcome: Outcome::Returned,
            of: Some(of),
            response: None,
            route: Route::Caller,
        }
        .into()])
        .owing([]);
}

#[test]
fn program_call_sends_nothing_to_the_model() {
    let connected = attached().connected();
    let epoch = connected.epoch();
    let watching = connected
        .program_call("watch", json!({}))
        .yielded(json!({}));
    let done = watching.returned(json!({})).disconnected().connected();
    assert!(done.session().deliveries.is_empty());
    assert_eq!(routes(&done), [Route::Caller, Route::Caller]);
    assert!(!done.kinds().contains(&"delivery_chosen"));
    assert_ne!(done.epoch(), epoch);
    // A refusal is not sent to the model either.
    let refused = done.program_call("fly", json!({}));
    assert_eq!(settled(&refused), Outcome::Refused);
    assert_eq!(routes(&refused).last(), Some(&Route::Caller));
    assert_eq!(owed(refused.session()), []);
}

#[test]
fn policies_hold_for_programs_too() {
    let asked = attached().program_call("pay", json!({})).asked();
    let denied = asked.clone().denied("ada", None);
    assert_eq!(settled(&denied), Outcome::Denied);
    assert_eq!(
        settled(&asked.granted("ada").returned(json!({}))),
        Outcome::Returned
    );
}

#[test]
fn program_and_model_share_cached_results() {
    let tools = toolbox().plain("look").cached("look");
    let support = history().opened("support").attached(&tools).connected();
    let looked = support.call("c1", "look", json!({})).returned(json!({}));
    let again = looked.program_call("look", json!({}));
    assert!(again.kinds().contains(&"result_reused"));
    assert_eq!(routes(&again).last(), Some(&Route::Caller));
}

#[test]
fn program_call_cut_off_leaves_nothing_owed() {
    let cut_off = attached()
        .program_call("look", json!({}))
        .started()
        .detached();
    assert_eq!(settled(&cut_off), Outcome::Unknown);
    assert_eq!(owed(cut_off.session()), []);
    assert!(cut_off.session().deliveries.is_empty());
}

#[test]
fn program_call_is_no_sign_of_the_model() {
    let sent = attached()
        .connected()
        .call("c1", "look", json!({}))
        .returned(json!({}))
        .sent();
    let called = sent.program_call("look", json!({}));
    assert_eq!(
        called.session().deliveries.len(),
        1,
        "sent is not delivered"
    );
    assert!(called.heard().session().deliveries.is_empty());
}
