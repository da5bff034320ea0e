#![expect(
    clippy::indexing_slicing,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::json;

use crate::policies::policy::InDoubt;
use crate::testing::{History, Toolbox, answer_to, given, history, toolbox};
use crate::{
    About, Actor, Command, ConfirmationAnswered, Event, Finding, FoundAs, Hooks, Json, Outcome,
    Rejection, Route, ToolConfirmation, UnfitAnswer,
};

fn tools() -> Toolbox {
    toolbox().gated("pay").in_doubt("pay", InDoubt::Ask)
}

fn asked_about_the_gate(tools: &Toolbox) -> History {
    let opened = history().opened("support").attached(tools).connected();
    opened.call("c1", "pay", json!({"cents": 4200}))
}

/// A gated call whose runner detached during the run, so that a person is asked about the doubt.
fn in_doubt(tools: &Toolbox) -> History {
    let running = asked_about_the_gate(tools).granted("ada").started();
    running.detached().attached(tools).asked()
}

fn settles(history: &History, found: Finding) -> Command {
    Command::AnswerConfirmation {
        request: history.request(),
        answer: Ok(ToolConfirmation::found(found)),
        by: Actor::embedder("ada"),
    }
}

fn receipt() -> Finding {
    Finding::done(&json!({"receipt": 17}))
}

#[test]
fn stated_outcome_settles_call_without_another_run() {
    let doubt = in_doubt(&tools());
    let epoch = doubt.epoch();
    let when = given(&doubt).when_asked(settles(&doubt, receipt()));
    let when = when.then_kinds(["response_issued"]);
    let settled = when.session().settled[&doubt.call_seq()];
    assert_eq!((settled.outcome, settled.attempts), (Outcome::Supplied, 1));
    let told = when.session().deliveries.values().next().unwrap();
    assert_eq!(told.route, Route::ToolResponse { epoch });

    let failed = settles(&doubt, Finding::failed("the bank refused it"));
    let when = given(&doubt).when_asked(failed);
    let settled = when.session().settled[&doubt.call_seq()];
    assert_eq!((settled.outcome, settled.attempts), (Outcome::Failed, 1));
    let issued = format!("{:?}", when.decided("response_issued"));
    assert!(
        issued.contains("the bank refused it") && issued.contains("execution_failed"),
        "{issued}"
    );
}

#[test]
fn failure_reason_is_kept_from_model_if_policy_says_so() {
    let keeps = tools().policy("pay", |policy| policy.gate_terms.keeps_reason = true);
    let doubt = in_doubt(&keeps);
    let failed = settles(&doubt, Finding::failed("the customer is a fraud"));
    let issued = given(&doubt).when_asked(failed).decided("response_issued");
    assert!(!format!("{issued:?}").contains("fraud"), "{issued:?}");
}

#[test]
fn only_requests_about_doubts_accept_an_outcome() {
    let gate = asked_about_the_gate(&tools());
    let rejection = gate.rejection(settles(&gate, receipt()));
    assert_eq!(rejection, Rejection::NothingToSettle);
    let asks = gate.granted("ada").started().asks("and now?");
    let rejection = asks.rejection(settles(&asks, receipt()));
    assert_eq!(rejection, Rejection::NothingToSettle);
}

#[test]
fn malformed_findings_are_rejected_and_request_stays_open() {
    let doubt = in_doubt(&tools());
    let none = settles(&doubt, Finding::done(&json!("paid")));
    assert_eq!(doubt.rejection(none), Rejection::ResponseNotAnObject);
    let mut both = settles(&doubt, receipt());
    if let Command::AnswerConfirmation {
        answer: Ok(answer), ..
    } = &mut both
    {
        answer.confirmed = true;
    }
    assert!(matches!(
        doubt.rejection(both),
        Rejection::UnfitAnswer(UnfitAnswer::Malformed { .. })
    ));
    let settled = doubt.clone().commanded(settles(&doubt, receipt()));
    let late = answer_to(doubt.request(), true, None, "bob");
    let Rejection::AlreadyAnswered(answered) = settled.rejection(late) else {
        panic!("the second answer must not count");
    };
    assert_eq!(answered.found, Some(FoundAs::Done));
    let told = Rejection::AlreadyAnswered(answered).to_string();
    assert!(told.starts_with("it was settled as done by ada"), "{told}");
}

#[test]
fn stated_outcome_goes_through_response_hook() {
    let hooks = Hooks {
        before_tool_response: true,
        ..Hooks::default()
    };
    let doubt = in_doubt(&tools().hooks(hooks));
    let when = given(&doubt).when_asked(settles(&doubt, receipt()));
    let shown = crate::owed(when.session());
    let asks_hook = |it: &crate::Effect| matches!(it, crate::Effect::AskHook { of: Some(_), .. });
    assert!(shown.iter().any(asks_hook), "{shown:?}");
    let sends = |it: &crate::Effect| matches!(it, crate::Effect::SendResponse { .. });
    assert!(!shown.iter().any(sends), "{shown:?}");
}

#[test]
fn gate_answer_holds_after_doubt_unless_contract_changed() {
    let gate = asked_about_the_gate(&tools());
    let passed = Some(gate.request());
    let doubt = gate.granted("ada").started().detached();
    let again = doubt.clone().attached(&tools()).asked().granted("bob");
    assert_eq!(again.started().current().gate_passed, passed);
    let changed = tools()
        .changed("pay")
        .parameters("pay", json!({"type": "object"}));
    let changed = doubt.attached(&changed).asked().granted("bob");
    assert_eq!(changed.started().current().gate_passed, None);
}

#[test]
fn finding_survives_a_round_trip() {
    for text in [r#"{"done":{"receipt":17.0}}"#, r#"{"failed":"gone"}"#] {
        let found: Finding = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&found).unwrap(), text);
    }
    for nonsense in [
        r#"{"done":{},"failed":""}"#,
        r#"{"other":1}"#,
        "\"done\"",
        "{}",
    ] {
        assert!(serde_json::from_str::<Finding>(nonsense).is_err());
    }
    assert!(Finding::Done(Json::empty_object()).is_response());
}

#[test]
fn request_about_doubt_has_no_payload() {
    let tools = tools().policy("pay", |policy| {
        policy.gate_terms.payload = Some(json!({"type": "object"}));
    });
    let doubt = in_doubt(&tools);
    let questions = doubt.facts().iter().filter_map(|fact| match &fact.event {
        Event::Decided(decision) => decision.question(),
        Event::Observed(_) => None,
    });
    let wanted: Vec<_> = questions
        .map(|it| (it.about, it.payload_schema.is_some()))
        .collect();
    assert_eq!(wanted, [(About::Gate, true), (About::InDoubt, false)]);
}

#[test]
fn recorded_finding_for_a_gate_settles_nothing() {
    let gated = asked_about_the_gate(&tools()).asked();
    let answered = ConfirmationAnswered {
        request: gated.request(),
        confirmed: false,
        reason: None,
        payload: None,
        edited_args: None,
        extra: None,
        found: Some(receipt()),
        allow_for: None,
        by: Actor::embedder("mallory"),
    };
    let denied = gated.observed(answered);
    let settled = denied.session().settled[&denied.call_seq()];
    assert_eq!(settled.outcome, Outcome::Denied);
}
