#![expect(
    clippy::indexing_slicing,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::{Value, json};

use crate::testing::{History, Toolbox, history, toolbox};
use crate::*;

fn tools() -> Toolbox {
    toolbox().gated("pay").acknowledges()
}

/// A model that takes one response to a call, and waits for it.
fn takes_one() -> Capabilities {
    Capabilities {
        async_tools: false,
        will_continue: false,
        ..Capabilities::default()
    }
}

fn asked(tools: &Toolbox, capabilities: Capabilities) -> History {
    let support = history().opened("support").attached(tools);
    support
        .connected_as(Some(capabilities))
        .call("c1", "pay", json!({"cents": 7}))
}

/// What the model is told of the call, oldest first: in which words, by which way, and whether more
/// follows.
fn told(history: &History) -> Vec<(Value, Route, Option<bool>)> {
    let words = history.facts().iter().filter_map(|fact| match &fact.event {
        Event::Decided(Decision::ResponseIssued(it)) => {
            let words = it.response.as_ref().map_or(Value::Null, Json::to_value);
            Some((words, it.route, it.outcome))
        }
        Event::Decided(_) | Event::Observed(_) => None,
    });
    words
        .map(|(words, route, outcome)| {
            (words, route, (outcome == Outcome::Interim).then_some(true))
        })
        .collect()
}

fn waiting() -> Value {
    json!({"status": "awaiting_confirmation", "tool": "pay"})
}

#[test]
fn a_call_that_waits_for_a_person_is_acknowledged_at_once_and_its_outcome_follows_by_the_same_id() {
    let asked = asked(&tools(), Capabilities::default());
    let by_id = Route::ToolResponse {
        epoch: asked.epoch(),
    };
    assert_eq!(told(&asked), [(waiting(), by_id, Some(true))]);
    assert!(!asked.clone().sent().session().model_waits(|_| true));
    let paid = asked.granted("ada").returned(json!({"paid": true}));
    assert_eq!(told(&paid)[1], (Value::Null, by_id, None));
    assert_eq!(paid.told()[1].will_continue, Some(false));
}

#[test]
fn where_the_model_takes_one_response_the_acknowledgement_is_it_and_the_outcome_is_told_as_conversation()
 {
    let asked = asked(&tools(), takes_one());
    let epoch = asked.epoch();
    assert_eq!(told(&asked)[0].1, Route::ToolResponse { epoch });
    let denied = asked.denied("ada", Some("too much"));
    assert_eq!(told(&denied)[1].1, Route::Conversation { epoch });
}

#[test]
fn a_call_that_goes_on_elsewhere_without_a_word_is_acknowledged_only_where_the_model_waits_for_one_response()
 {
    let tools = toolbox().plain("pay").acknowledges();
    let paused = |capabilities| asked(&tools, capabilities).started().paused(None);
    assert_eq!(told(&paused(Capabilities::default())), []);
    let pending = json!({"status": "pending", "tool": "pay"});
    let one = told(&paused(takes_one()));
    assert_eq!(one.len(), 1);
    assert_eq!(one[0].0, pending);
    let spoken = asked(&tools, takes_one())
        .started()
        .paused(Some(json!({"ticket": 7})));
    assert_eq!(told(&spoken).len(), 1);
}

#[test]
fn it_is_said_once_and_to_the_connection_that_brought_the_call() {
    let asked = asked(&tools(), Capabilities::default());
    let again = asked.disconnected().connected();
    assert_eq!(told(&again).len(), 1);
    let changed = tools().changed("pay");
    assert_eq!(told(&again.attached(&changed)).len(), 1);
    let doubted = toolbox()
        .plain("pay")
        .in_doubt("pay", InDoubt::Ask)
        .acknowledges();
    let support = history().opened("support").attached(&doubted).connected();
    let elsewhere = support
        .call("c1", "pay", json!({}))
        .started()
        .disconnected();
    let elsewhere = elsewhere.connected().attached(&doubted);
    assert!(elsewhere.kinds().contains(&"confirmation_requested"));
    assert_eq!(told(&elsewhere), []);
}

#[test]
fn its_words_are_the_tools_own_in_the_agents_shape() {
    let own = json!({"status": "a colleague looks at it"});
    let tools = tools().policy("pay", |policy| policy.acknowledgement = Some(own.clone()));
    let words = |tools: &Toolbox| told(&asked(tools, Capabilities::default()))[0].0.clone();
    assert_eq!(words(&tools), own);
    let wrapped = tools.response(ResponseShape::Envelope);
    assert_eq!(
        words(&wrapped),
        json!({"output": own, "scheduling": "WHEN_IDLE"})
    );
}

#[test]
fn what_an_agent_without_acknowledgements_has_on_record_stays_as_it_is() {
    assert_eq!(
        told(&asked(&toolbox().gated("pay"), Capabilities::default())),
        []
    );
}

#[test]
fn the_words_for_a_question_are_not_said_of_a_call_about_which_nobody_was_asked() {
    let tools = tools().policy("pay", |policy| {
        policy.acknowledgement = Some(json!({"status": "a colleague looks at it"}));
        policy.gate_terms.when = Some(S::compares(S::arg("cents"), Comparison::Greater, 1000));
    });
    let paused = asked(&tools, takes_one()).started().paused(None);
    let pending = json!({"status": "pending", "tool": "pay"});
    assert_eq!(told(&paused)[0].0, pending);
}
