use serde_json::json;

use crate::session::*;
use crate::testing::{History, Toolbox, given, history, toolbox};

fn tools() -> Toolbox {
    let hooks = Hooks {
        on_tool_call: true,
        before_tool_response: true,
    };
    let tools = toolbox().plain("look").gated("pay").plain("retry");
    tools.in_doubt("retry", InDoubt::Retry).hooks(hooks)
}

fn call(name: &str) -> History {
    let support = history().opened("support").attached(&tools()).connected();
    support.call("c1", name, json!({}))
}

fn said(history: &History, response: Option<serde_json::Value>) -> HookAnswered {
    HookAnswered {
        hook: Hook::OnToolCall,
        call: history.call_seq(),
        of: None,
        by: response.as_ref().map(|_| Actor::embedder("on_tool_call")),
        response: response.map(|it| Json::of(&it)),
        failure: None,
    }
}

fn ask(history: &History) -> Effect {
    let runner = history.session().runner.map_or(Seq(0), |it| it.seq);
    Effect::AskHook {
        call: history.call_seq(),
        of: None,
        runner,
    }
}

#[test]
fn a_call_waits_for_the_hook_and_then_takes_its_course() {
    let looking = call("look");
    assert_eq!(owed(looking.session()), [ask(&looking)]);
    given(&looking).when(said(&looking, None)).then_kinds([
        "policy_decided",
        "call_ready",
        "call_started",
    ]);
    let paying = call("pay");
    given(&paying)
        .when(said(&paying, None))
        .then_kinds(["policy_decided", "confirmation_requested"]);
}

#[test]
fn a_gated_call_that_the_program_answers_runs_nothing_and_asks_nobody() {
    let paying = call("pay");
    let done = given(&paying)
        .when(said(&paying, Some(json!({"paid": true}))))
        .then_kinds(["response_issued"]);
    let Decision::ResponseIssued(issued) = done.decided("response_issued") else {
        return;
    };
    let answer = paying.session().head.next();
    assert_eq!(
        (issued.outcome, issued.of),
        (Outcome::Supplied, Some(answer))
    );
    let settled = done.session().settled.get(&paying.call_seq());
    assert_eq!(settled.map(|it| it.attempts), Some(0));
}

#[test]
fn a_hook_that_fails_has_said_no() {
    let looking = call("look");
    let failed = HookAnswered {
        failure: Some("it panicked".to_owned()),
        ..said(&looking, None)
    };
    let done = given(&looking).when(failed).then_kinds(["response_issued"]);
    let Decision::ResponseIssued(issued) = done.decided("response_issued") else {
        return;
    };
    assert_eq!(issued.outcome, Outcome::Refused);
    let told = issued.response.map(|it| it.to_string()).unwrap_or_default();
    assert!(
        told.contains("it panicked") && told.contains("hook_failed"),
        "{told}"
    );
}

#[test]
fn what_the_hook_says_of_a_call_that_does_not_wait_for_it_changes_nothing() {
    let looking = call("look");
    let running = looking.clone().observed(said(&looking, None));
    let late = said(&running, Some(json!({"late": true})));
    given(&running).when(late).then_nothing();
}

#[test]
fn a_hook_that_was_cut_off_may_have_done_the_work() {
    let looking = call("look").detached();
    let decided = looking.attached(&tools());
    let end = decided.session().settled.values().next();
    assert_eq!(end.map(|it| it.outcome), Some(Outcome::Unknown));
    // What may run again may be asked again; without the hook it takes its course.
    let again = call("retry").attached(&tools());
    assert_eq!(owed(again.session()), [ask(&again)]);
    let without = call("retry").attached(&tools().hooks(Hooks::default()));
    assert!(without.current().phase.is_running());
}

#[test]
fn what_is_wrong_with_a_call_needs_no_hook() {
    let support = history().opened("support").attached(&tools()).connected();
    let unnamed = FunctionCallReceived {
        epoch: support.epoch(),
        id: Some("c1".to_owned()),
        name: None,
        args: None,
        malformed_args: None,
        invalid_args: None,
        sealed_args: Vec::new(),
        original_args: None,
        by: None,
    };
    given(&support)
        .when(unnamed)
        .then_kinds(["policy_decided", "response_issued"]);
    // A program that calls has no need to be asked by itself.
    let own = support.program_call("look", json!({}));
    assert!(own.current().phase.is_running());
}

#[test]
fn a_response_of_our_own_waits_for_the_hook_and_goes_out_in_its_words() {
    let unknown = call("nothing");
    let refused = unknown.clone().observed(said(&unknown, None));
    let issued = refused.session().head;
    let runner = refused.session().runner.map_or(Seq(0), |it| it.seq);
    let owed_now = owed(refused.session());
    let of = Some(issued);
    let call = unknown.call_seq();
    assert_eq!(owed_now, [Effect::AskHook { call, of, runner }]);
    let shaped = HookAnswered {
        hook: Hook::BeforeToolResponse,
        of,
        response: Some(Json::of(&json!({"error": "no"}))),
        ..said(&unknown, None)
    };
    let done = given(&refused).when(shaped).then_nothing();
    let delivery = done.session().deliveries.get(&issued);
    let answer = refused.session().head.next();
    assert_eq!(delivery.map(|it| it.wording), Some(Wording::Hooked(answer)));
    assert!(matches!(
        owed(done.session())[..],
        [Effect::SendResponse { .. }]
    ));
    // A process without the hook sends what was issued.
    let plain = refused.attached(&tools().hooks(Hooks::default()));
    assert!(matches!(
        owed(plain.session())[..],
        [Effect::SendResponse { .. }]
    ));
}

#[test]
fn a_response_that_waits_for_the_hook_is_told_without_the_id_that_was_taken_back_meanwhile() {
    let support = history().opened("support").attached(&tools()).connected();
    let refused = support.call("c1", "look", json!({}));
    let failed = HookAnswered {
        failure: Some("it panicked".to_owned()),
        ..said(&refused, None)
    };
    let refused = refused.observed(failed);
    let (call, issued) = (refused.call_seq(), refused.session().head);
    let waits = owed(refused.session());
    assert!(matches!(waits[..], [Effect::AskHook { of: Some(of), .. }] if of == issued));
    let taken_back = refused.taken_back("c1");
    assert_eq!(owed(taken_back.session()), waits);
    let answered = taken_back.observed(HookAnswered {
        hook: Hook::BeforeToolResponse,
        call,
        of: Some(issued),
        response: Some(Json::empty_object()),
        failure: None,
        by: None,
    });
    assert!(matches!(
        owed(answered.session())[..],
        [Effect::SendResponse { response, as_conversation: true, .. }] if response == issued
    ));
}
