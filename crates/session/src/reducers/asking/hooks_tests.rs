use serde_json::json;

use crate::testing::{History, Toolbox, given, history, toolbox};
use crate::*;

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
        gated: None,
    }
}

fn ask(history: &History) -> Effect {
    let runner = history.session().runner.map_or(Seq(0), |it| it.seq);
    Effect::AskHook {
        hook: Hook::OnToolCall,
        call: history.call_seq(),
        of: None,
        runner,
    }
}

#[test]
fn call_waits_for_the_hook_and_then_proceeds() {
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
fn hook_response_skips_gate_and_run() {
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
fn failed_hook_refuses_the_call() {
    let looking = call("look");
    let failed = HookAnswered {
        failure: Some("it panicked".to_owned()),
        gated: None,
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
fn hook_answer_for_call_not_waiting_changes_nothing() {
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
    // A tool that may run again has its hook asked again. Without the hook, the call runs.
    let again = call("retry").attached(&tools());
    assert_eq!(owed(again.session()), [ask(&again)]);
    let without = call("retry").attached(&tools().hooks(Hooks::default()));
    assert!(without.current().phase.is_running());
}

#[test]
fn malformed_call_skips_the_hook() {
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
        parent: None,
        beyond_max: None,
        key: None,
    };
    given(&support)
        .when(unnamed)
        .then_kinds(["policy_decided", "response_issued"]);
    // The program's hook does not see calls that the program itself makes.
    let own = support.program_call("look", json!({}));
    assert!(own.current().phase.is_running());
}

#[test]
fn engine_response_waits_for_hook_and_takes_its_content() {
    let unknown = call("nothing");
    let refused = unknown.clone().observed(said(&unknown, None));
    let issued = refused.session().head;
    let runner = refused.session().runner.map_or(Seq(0), |it| it.seq);
    let owed_now = owed(refused.session());
    let of = Some(issued);
    let call = unknown.call_seq();
    let hook = Hook::BeforeToolResponse;
    let owes = Effect::AskHook {
        hook,
        call,
        of,
        runner,
    };
    assert_eq!(owed_now, [owes]);
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
    // A process without the hook sends the response as issued.
    let plain = refused.attached(&tools().hooks(Hooks::default()));
    assert!(matches!(
        owed(plain.session())[..],
        [Effect::SendResponse { .. }]
    ));
}

#[test]
fn response_waiting_for_hook_loses_its_cancelled_id() {
    let support = history().opened("support").attached(&tools()).connected();
    let refused = support.call("c1", "look", json!({}));
    let failed = HookAnswered {
        failure: Some("it panicked".to_owned()),
        gated: None,
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
        gated: None,
        by: None,
    });
    assert!(matches!(
        owed(answered.session())[..],
        [Effect::SendResponse { response, as_conversation: true, .. }] if response == issued
    ));
}

fn by_program() -> Toolbox {
    toolbox().plain("refund").gated_by_program("refund")
}

fn refund(tools: &Toolbox) -> History {
    let support = history().opened("support").attached(tools).connected();
    support.call("c1", "refund", json!({"amount": 5000}))
}

fn gate_said(history: &History, gated: Option<bool>) -> HookAnswered {
    HookAnswered {
        hook: Hook::ConfirmWhen,
        gated,
        failure: gated.is_none().then(|| "it panicked".to_owned()),
        ..said(history, None)
    }
}

#[test]
fn program_gate_asks_the_program_before_a_person() {
    let refund = refund(&by_program());
    let runner = refund.session().runner.map_or(Seq(0), |it| it.seq);
    let owes = Effect::AskHook {
        hook: Hook::ConfirmWhen,
        call: refund.call_seq(),
        of: None,
        runner,
    };
    assert_eq!(owed(refund.session()), [owes]);
    for closed in [Some(true), None] {
        given(&refund)
            .when(gate_said(&refund, closed))
            .then_kinds(["confirmation_requested"]);
    }
    given(&refund)
        .when(gate_said(&refund, Some(false)))
        .then_kinds(["call_ready", "call_started"]);
}

#[test]
fn gate_hook_cut_off_is_asked_again_without_doubt() {
    let cut_off = refund(&by_program()).detached();
    assert_eq!(cut_off.current().phase, Phase::AwaitingVerdict);
    assert_eq!(owed(cut_off.session()), []);
    let next = cut_off.attached(&by_program());
    assert_eq!(next.kinds().last(), Some(&"runner_attached"));
    assert_eq!(owed(next.session()).len(), 1);
    let asked = next.clone().observed(gate_said(&next, Some(true))).asked();
    let started = asked.granted("ada").started();
    let kinds = started.kinds();
    let verdicts = kinds.iter().filter(|kind| **kind == "policy_decided");
    assert_eq!(verdicts.count(), 1);
}

#[test]
fn program_verdict_is_not_asked_again_before_start() {
    let none = by_program().running_max(0);
    let waits = refund(&none);
    let waits = waits.clone().observed(gate_said(&waits, Some(false)));
    assert_eq!(waits.current().phase.name(), "ready");
    let runs = waits.attached(&by_program());
    assert!(runs.current().phase.is_running());
    // A gate without the program was declared since, and nothing permits that call.
    let waits = refund(&none);
    let waits = waits.clone().observed(gate_said(&waits, Some(false)));
    let asked = waits.attached(&by_program().gated("refund").policy("refund", |policy| {
        policy.gate_terms.asks_program = false;
    }));
    assert_eq!(
        asked.asked().current().phase.name(),
        "awaiting_confirmation"
    );
}

#[test]
fn gate_no_longer_left_to_program_follows_declaration() {
    let open = refund(&by_program()).attached(&toolbox().plain("refund"));
    assert!(open.current().phase.is_running());
    let gated = refund(&by_program()).attached(&toolbox().gated("refund"));
    assert_eq!(gated.current().phase.name(), "awaiting_confirmation");
    let gone = refund(&by_program()).attached(&toolbox().plain("other"));
    assert_eq!(gone.current().phase, Phase::AwaitingVerdict);
}

#[test]
fn true_condition_skips_the_program_verdict() {
    let large = S::compares(S::arg("amount"), Comparison::Greater, 1000);
    let tools = by_program().policy("refund", |policy| {
        policy.gate_terms.when = Some(large.clone())
    });
    let asked = refund(&tools);
    assert_eq!(asked.current().phase.name(), "awaiting_confirmation");
    let small = history().opened("support").attached(&tools).connected();
    let small = small.call("c1", "refund", json!({"amount": 5}));
    assert_eq!(small.current().phase, Phase::AwaitingVerdict);
}

#[test]
fn a_late_verdict_of_the_program_changes_nothing() {
    let refund = refund(&by_program());
    let verdict = gate_said(&refund, Some(false));
    let asked = refund.clone().observed(gate_said(&refund, Some(true)));
    given(&asked).when(verdict.clone()).then_kinds([]);
    let back = refund.taken_back("c1");
    given(&back).when(verdict).then_kinds([]);
}

#[test]
fn hook_sees_undeclared_tool_with_any_arguments() {
    let support = history().opened("support").attached(&tools()).connected();
    let unfit = |name: &str| FunctionCallReceived {
        epoch: support.epoch(),
        id: Some("c1".to_owned()),
        name: Some(name.to_owned()),
        args: Some(Json::empty_object()),
        malformed_args: None,
        invalid_args: Some("no city".to_owned()),
        sealed_args: Vec::new(),
        original_args: None,
        by: None,
        parent: None,
        beyond_max: None,
        key: None,
    };
    let unknown = support.clone().observed(unfit("weather"));
    assert_eq!(owed(unknown.session()), [ask(&unknown)]);
    given(&support)
        .when(unfit("look"))
        .then_kinds(["policy_decided", "response_issued"]);
}

/// True if the hook is asked about the response of the current call, false if the response is sent.
fn hook_is_asked(history: &History) -> Option<bool> {
    owed(history.session()).into_iter().find_map(|it| match it {
        Effect::AskHook { of, .. } => of.map(|_| true),
        Effect::SendResponse { .. } => Some(false),
        Effect::RunTool { .. }
        | Effect::AskConfirmation { .. }
        | Effect::SendInstruction { .. }
        | Effect::Connect
        | Effect::CloseSession { .. }
        | Effect::ArmTimer { .. } => None,
    })
}

#[test]
fn response_waits_for_hook_unless_hook_saw_its_content() {
    let shown = Hooks {
        on_tool_call: false,
        before_tool_response: true,
    };
    let of = |hooks: Hooks| {
        let support = history().opened("support");
        let support = support.attached(&tools().hooks(hooks)).connected();
        support.call("c1", "look", json!({})).started()
    };
    // The hook saw the tool's result before it was recorded. It has not seen responses of the
    // engine.
    assert_eq!(hook_is_asked(&of(shown).returned(json!({}))), Some(false));
    assert_eq!(hook_is_asked(&of(shown).cancelled()), Some(true));
    let support = history().opened("support").attached(&tools().hooks(shown));
    let refused = support.connected().call("c1", "nothing", json!({}));
    assert_eq!(hook_is_asked(&refused), Some(true));
}

#[test]
fn later_hook_does_not_see_earlier_responses() {
    let support = history().opened("support");
    let support = support
        .attached(&tools().hooks(Hooks::default()))
        .connected();
    for issued in [
        support.clone().call("c1", "nothing", json!({})),
        support.call("c1", "look", json!({})).cancelled(),
    ] {
        assert_eq!(hook_is_asked(&issued), Some(false));
        assert_eq!(hook_is_asked(&issued.attached(&tools())), Some(false));
    }
}
