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

/// The responses to the call, oldest first: content, route, and `willContinue`.
fn responses(history: &History) -> Vec<(Value, Route, Option<bool>)> {
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
fn call_waiting_for_person_is_acknowledged_at_once() {
    let asked = asked(&tools(), Capabilities::default());
    let by_id = Route::ToolResponse {
        epoch: asked.epoch(),
    };
    assert_eq!(responses(&asked), [(waiting(), by_id, Some(true))]);
    assert!(!asked.clone().sent().session().model_waits(|_| true));
    let paid = asked.granted("ada").returned(json!({"paid": true}));
    assert_eq!(responses(&paid)[1], (Value::Null, by_id, None));
    assert_eq!(paid.told()[1].will_continue, Some(false));
}

#[test]
fn single_response_model_gets_outcome_as_conversation() {
    let asked = asked(&tools(), takes_one());
    let epoch = asked.epoch();
    assert_eq!(responses(&asked)[0].1, Route::ToolResponse { epoch });
    let denied = asked.denied("ada", Some("too much"));
    assert_eq!(responses(&denied)[1].1, Route::Conversation { epoch });
}

#[test]
fn silent_pause_is_acknowledged_only_for_single_response_model() {
    let tools = toolbox().plain("pay").acknowledges();
    let paused = |capabilities| asked(&tools, capabilities).started().paused(None);
    assert_eq!(responses(&paused(Capabilities::default())), []);
    let pending = json!({"status": "pending", "tool": "pay"});
    let one = responses(&paused(takes_one()));
    assert_eq!(one.len(), 1);
    assert_eq!(one[0].0, pending);
    let spoken = asked(&tools, takes_one())
        .started()
        .paused(Some(json!({"ticket": 7})));
    assert_eq!(responses(&spoken).len(), 1);
}

#[test]
fn acknowledgement_is_sent_once_on_the_calls_connection() {
    let asked = asked(&tools(), Capabilities::default());
    let again = asked.disconnected().connected();
    assert_eq!(responses(&again).len(), 1);
    let changed = tools().changed("pay");
    assert_eq!(responses(&again.attached(&changed)).len(), 1);
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
    assert_eq!(responses(&elsewhere), []);
}

#[test]
fn acknowledgement_uses_tools_content_in_agents_shape() {
    let own = json!({"status": "a colleague looks at it"});
    let tools = tools().policy("pay", |policy| policy.acknowledgement = Some(own.clone()));
    let words = |tools: &Toolbox| {
        responses(&asked(tools, Capabilities::default()))[0]
            .0
            .clone()
    };
    assert_eq!(words(&tools), own);
    let wrapped = tools.response(ResponseShape::Envelope);
    assert_eq!(
        words(&wrapped),
        json!({"output": own, "scheduling": "WHEN_IDLE"})
    );
}

#[test]
fn agent_without_acknowledgements_issues_none() {
    assert_eq!(
        responses(&asked(&toolbox().gated("pay"), Capabilities::default())),
        []
    );
}

#[test]
fn paused_call_does_not_use_acknowledgement_of_a_request() {
    let tools = tools().policy("pay", |policy| {
        policy.acknowledgement = Some(json!({"status": "a colleague looks at it"}));
        policy.gate_terms.when = Some(S::compares(S::arg("cents"), Comparison::Greater, 1000));
    });
    let paused = asked(&tools, takes_one()).started().paused(None);
    let pending = json!({"status": "pending", "tool": "pay"});
    assert_eq!(responses(&paused)[0].0, pending);
}
