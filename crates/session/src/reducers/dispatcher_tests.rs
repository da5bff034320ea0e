#![expect(
    clippy::indexing_slicing,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::json;

use crate::testing::{History, given, history, toolbox};
use crate::*;

fn support() -> History {
    let tools = toolbox().plain("look").gated("pay").long_running("order");
    history().opened("support").attached(&tools).connected()
}

fn received(history: &History) -> FunctionCallReceived {
    FunctionCallReceived {
        epoch: history.epoch(),
        id: Some("c1".to_owned()),
        name: Some("look".to_owned()),
        args: Some(Json::empty_object()),
        malformed_args: None,
        invalid_args: None,
        sealed_args: Vec::new(),
        original_args: None,
        by: None,
        parent: None,
        beyond_max: None,
        key: None,
    }
}

/// The outcome and the content of the response to a call that is refused.
fn refusal(history: &History, call: FunctionCallReceived) -> (Outcome, serde_json::Value) {
    let when = given(history)
        .when(call)
        .then_kinds(["policy_decided", "response_issued"]);
    match when.decided("response_issued") {
        Decision::ResponseIssued(it) => (
            it.outcome,
            it.response.map(|json| json.to_value()).unwrap_or_default(),
        ),
        other => unreachable!("the kind was asked for: {other:?}"),
    }
}

#[test]
fn a_plain_call_is_allowed_ready_and_started_at_once() {
    let support = support();
    let (call, runner) = (support.session().head.next(), Seq(2));
    given(&support)
        .when(received(&support))
        .then([
            PolicyDecided {
                call,
                verdict: Verdict::Allowed,
                rule: Rule::Default,
                reason: None,
                policies: support.session().terms.policies_hash,
                inputs: None,
            }
            .into(),
            CallReady { call }.into(),
            CallStarted {
                call,
                attempt: 1,
                runner,
                deadline_us: None,
            }
            .into(),
        ])
        .owing([Effect::RunTool {
            call,
            attempt: 1,
            runner,
        }]);
}

#[test]
fn an_unknown_tool_is_answered_with_an_error() {
    let support = support();
    let call = FunctionCallReceived {
        name: Some("fly".to_owned()),
        ..received(&support)
    };
    let error = json!({"error": "there is no tool named \"fly\"", "kind": "not_found"});
    assert_eq!(refusal(&support, call), (Outcome::Refused, error));
}

#[test]
fn a_call_without_a_name_is_answered_with_an_error() {
    let support = support();
    let call = FunctionCallReceived {
        name: None,
        ..received(&support)
    };
    let error = json!({"error": "the function call has no name", "kind": "not_found"});
    assert_eq!(refusal(&support, call), (Outcome::Refused, error));
}

#[test]
fn bad_arguments_are_answered_without_a_run() {
    let support = support();
    let malformed = MalformedArgs {
        text: "{".to_owned(),
        problem: "not JSON".to_owned(),
    };
    let call = FunctionCallReceived {
        args: None,
        malformed_args: Some(malformed),
        ..received(&support)
    };
    let error = json!({"error": "not JSON", "kind": "invalid_args"});
    assert_eq!(refusal(&support, call), (Outcome::Refused, error));
    let invalid = Some("\"false\" is not a boolean".to_owned());
    for name in ["look", "pay", "order"] {
        let (name, invalid_args) = (Some(name.to_owned()), invalid.clone());
        let call = FunctionCallReceived {
            name,
            invalid_args,
            ..received(&support)
        };
        let error = json!({"error": "\"false\" is not a boolean", "kind": "invalid_args"});
        assert_eq!(refusal(&support, call), (Outcome::Refused, error));
    }
}

#[test]
fn unknown_tool_is_reported_before_bad_arguments() {
    let support = support();
    let call = FunctionCallReceived {
        name: Some("fly".to_owned()),
        invalid_args: Some("anything".to_owned()),
        ..received(&support)
    };
    assert_eq!(refusal(&support, call).1["kind"], "not_found");
}

#[test]
fn a_call_without_arguments_has_the_empty_object() {
    let support = support();
    let when = given(&support).when(FunctionCallReceived {
        args: None,
        ..received(&support)
    });
    let args = when.session().calls.values().map(|call| call.args.as_str());
    assert_eq!(args.collect::<Vec<_>>(), ["{}"]);
}

#[test]
fn one_id_delivered_twice_on_a_connection_is_one_call() {
    let running = support().call("c1", "look", json!({})).started();
    given(&running).when(received(&running)).then_nothing();
    let ended = running.returned(json!({}));
    given(&ended).when(received(&ended)).then_nothing();
    let lost = ended.disconnected();
    given(&lost).when(received(&lost)).then_nothing();
}

#[test]
fn one_id_on_two_connections_is_two_calls() {
    let again = support()
        .call("c1", "look", json!({}))
        .disconnected()
        .connected();
    given(&again).when(received(&again)).then_kinds([
        "policy_decided",
        "call_ready",
        "call_started",
    ]);
}

#[test]
fn calls_without_an_id_are_calls_of_their_own() {
    let support = support();
    let nameless = FunctionCallReceived {
        id: None,
        ..received(&support)
    };
    let both = support.observed(nameless.clone()).observed(nameless);
    assert_eq!(both.session().running(), 2);
}

#[test]
fn ready_call_starts_with_the_next_runner() {
    let tools = toolbox().plain("look");
    let waiting = support().detached();
    given(&waiting)
        .when(received(&waiting))
        .then_kinds(["policy_decided", "call_ready"])
        .owing([]);
    let started = waiting
        .call("c1", "look", json!({}))
        .attached(&tools)
        .started();
    assert_eq!(started.attempt(), 1);
}

#[test]
fn response_refers_to_the_tools_record() {
    let running = support().call("c1", "look", json!({})).started();
    let (call, of) = (running.call_seq(), running.session().head.next());
    for (failed, outcome) in [(false, Outcome::Returned), (true, Outcome::Failed)] {
        let route = Route::ToolResponse {
            epoch: running.epoch(),
        };
        given(&running)
            .when(running.tool_returned(failed, &json!({"error": "no"})))
            .then([ResponseIssued {
                call,
                outcome,
                of: Some(of),
                response: None,
                route,
            }
            .into()]);
    }
}

#[test]
fn operator_cancellation_sends_response_and_close_does_not() {
    let running = support().call("c1", "look", json!({})).started();
    let call = running.call_seq();
    let cancelled = running.clone().cancelled();
    assert_eq!(
        cancelled.session().settled[&call].outcome,
        Outcome::Cancelled
    );
    assert_eq!(cancelled.kinds().last(), Some(&"response_issued"));
    let closed = running.closed();
    assert_eq!(closed.session().settled[&call].outcome, Outcome::Withdrawn);
    assert_eq!(closed.kinds().last(), Some(&"call_cancelled"));
    assert!(owed(closed.session()).is_empty());
}

#[test]
fn call_after_close_is_cancelled_at_once() {
    let closed = support().closed();
    given(&closed)
        .when(received(&closed))
        .then_kinds(["call_cancelled"])
        .owing([]);
}

#[test]
fn late_observation_after_close_changes_nothing() {
    let running = support().call("c1", "look", json!({})).started();
    let late = running.tool_returned(false, &json!({}));
    given(&running.closed()).when(late).then_nothing().owing([]);
}

#[test]
fn a_settled_call_says_how_it_ended() {
    let ended = support().call("c1", "look", json!({})).returned(json!({}));
    let call = ended.call_seq();
    let cancel = Command::CancelCall {
        call,
        reason: None,
        by: Actor::embedder("ops"),
    };
    let outcome = Outcome::Returned;
    let at = ended.session().settled[&call].at;
    assert_eq!(
        ended.rejection(cancel),
        Rejection::CallSettled { call, outcome, at }
    );
}
