//! The calls that a gate holds, and the arguments that an answer may change.

#![expect(
    clippy::indexing_slicing,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::{Value, json};

use crate::testing::{History, Toolbox, history, toolbox};
use crate::*;

fn paying(gate: impl FnOnce(&mut ToolPolicy)) -> Toolbox {
    toolbox().gated("pay").policy("pay", gate)
}

fn called(tools: &Toolbox, args: Value) -> History {
    let support = history().opened("support").attached(tools).connected();
    support.call("c1", "pay", args)
}

fn answer(history: &History, answer: ToolConfirmation) -> Result<Observation, Rejection> {
    let Phase::AwaitingConfirmation { request, .. } = history.current().phase else {
        return Err(Rejection::SessionClosed);
    };
    let (answer, by) = (Ok(answer), Actor::embedder("ada"));
    admit(
        history.session(),
        Command::AnswerConfirmation {
            request,
            answer,
            by,
        },
    )
}

/// The recorded answer to the open request.
fn taken(history: &History, given: ToolConfirmation) -> Observation {
    answer(history, given).unwrap_or_else(|refused| unreachable!("{refused}"))
}

fn edited(args: &str) -> ToolConfirmation {
    let args = Json::parse(args).unwrap_or_else(|problem| unreachable!("{problem}"));
    ToolConfirmation::confirmed().with_args(args.to_value())
}

/// True if a call with these arguments is gated by a condition on amounts above 1000.
fn asks(args: Value) -> bool {
    let large = S::compares(S::arg("amount"), Comparison::Greater, 1000);
    let tools = paying(|policy| policy.gate_terms.when = Some(large));
    called(&tools, args)
        .kinds()
        .contains(&"confirmation_requested")
}

#[test]
fn conditional_gate_holds_matching_calls() {
    assert!(!asks(json!({"amount": 1000})));
    assert!(asks(json!({"amount": 1001})));
    assert!(asks(json!({"amount": 1000.5})));
}

#[test]
fn call_with_undecidable_condition_is_gated() {
    for args in [
        json!({}),
        json!({"amount": "7"}),
        json!({"amount": null}),
        json!({"amount": {"$sealed": "v1.x"}}),
    ] {
        assert!(asks(args.clone()), "{args}");
    }
}

#[test]
fn unknown_operand_matters_only_if_it_decides() {
    let risky = S::or([
        S::is_true("new_customer"),
        S::and([
            S::exists(S::arg("/to/iban")),
            S::compares(S::arg("amount"), Comparison::Greater, 10),
        ]),
    ]);
    let tools = paying(|policy| policy.gate_terms.when = Some(risky));
    let asks = |args| {
        called(&tools, args)
            .kinds()
            .contains(&"confirmation_requested")
    };
    assert!(
        !asks(json!({"amount": 50})),
        "there is no iban, whatever the amount"
    );
    assert!(!asks(json!({"amount": 5, "to": {"iban": "x"}})));
    assert!(
        asks(json!({"to": {"iban": "x"}})),
        "the amount is not known"
    );
}

#[test]
fn the_verdict_says_which_state_it_read() {
    let tools = paying(|policy| policy.gate_terms.when = Some(S::is_true("new_customer")));
    let support = history().opened("support").attached(&tools).connected();
    let told = support
        .state("new_customer", json!(true))
        .call("c1", "pay", json!({}));
    let inputs = told.facts().iter().find_map(|fact| match &fact.event {
        Event::Decided(Decision::PolicyDecided(it)) => it.inputs.clone(),
        Event::Decided(_) | Event::Observed(_) => None,
    });
    let inputs = inputs.map(|it| it.to_value()).unwrap_or_default();
    assert_eq!(inputs, json!({"state": {"new_customer": true}}));
}

#[test]
fn arguments_are_changed_only_where_the_tool_allows_it() {
    let asked = called(&paying(|_| ()), json!({"cents": 5000})).asked();
    assert_eq!(
        answer(&asked, edited(r#"{"cents":4000}"#)),
        Err(Rejection::EditsNotAllowed)
    );
}

#[test]
fn a_call_runs_with_the_arguments_that_the_answer_changed() {
    let tools = paying(|policy| policy.gate_terms.edits = Some(Edits::Allowed));
    let asked = called(&tools, json!({"cents": 5000})).asked();
    let changed = taken(&asked, edited(r#"{"cents":4000}"#));
    let runs = asked.observed(changed);
    assert!(runs.current().phase.is_running());
    assert_eq!(runs.current().args.as_str(), r#"{"cents":4000}"#);
}

#[test]
fn edited_arguments_need_new_approval_if_policy_says_so() {
    let tools = paying(|policy| policy.gate_terms.edits = Some(Edits::ApprovedAnew));
    let asked = called(&tools, json!({"cents": 5000})).asked();
    let changed = taken(&asked, edited(r#"{"cents":4000}"#));
    let anew = asked.observed(changed);
    assert_eq!(anew.current().phase.name(), "awaiting_confirmation");
    let questions: Vec<ObjectHash> = anew
        .facts()
        .iter()
        .filter_map(|fact| match &fact.event {
            Event::Decided(decision) => decision.question().map(|it| it.args_sha256),
            Event::Observed(_) => None,
        })
        .collect();
    assert_eq!(questions[1], ObjectHash::of(br#"{"cents":4000}"#));
    assert_ne!(questions[0], questions[1]);
    let runs = anew.granted("grace");
    assert!(runs.current().phase.is_running());
}

#[test]
fn private_reason_is_not_sent_to_the_model() {
    let tools = paying(|policy| policy.gate_terms.keeps_reason = true);
    let denied = called(&tools, json!({}))
        .asked()
        .denied("ada", Some("she is a thief"));
    let told: Vec<Json> = denied
        .facts()
        .iter()
        .filter_map(|fact| match &fact.event {
            Event::Decided(Decision::ResponseIssued(it)) => it.response.clone(),
            Event::Decided(_) | Event::Observed(_) => None,
        })
        .collect();
    assert_eq!(
        told[0].to_value()["error"],
        "the call was denied and did not run"
    );
}

#[test]
fn unfit_answer_is_rejected_and_request_stays_open() {
    let asked = called(&paying(|_| ()), json!({})).asked();
    let Phase::AwaitingConfirmation { request, .. } = asked.current().phase else {
        unreachable!()
    };
    let unfit = UnfitAnswer::Malformed {
        problem: "expected \"confirmed\": true or false, found \"yes\"".to_owned(),
    };
    let (answer, by) = (Err(unfit.clone()), Actor::embedder("ada"));
    let command = Command::AnswerConfirmation {
        request,
        answer,
        by: by.clone(),
    };
    let rejection = Rejection::UnfitAnswer(unfit);
    assert_eq!(admit(asked.session(), command), Err(rejection.clone()));
    let refusal = refusal_on_record(asked.session(), request, &by, &rejection);
    let refused = asked.observed(refusal.into_iter().next().unwrap_or_else(|| unreachable!()));
    assert!(refused.granted("ada").current().phase.is_running());
}

#[test]
fn denial_with_edited_arguments_is_a_denial() {
    let tools = paying(|policy| policy.gate_terms.edits = Some(Edits::ApprovedAnew));
    let asked = called(&tools, json!({"cents": 5000})).asked();
    let mut no = edited(r#"{"cents":4000}"#);
    no.confirmed = false;
    let denied = asked.clone().observed(taken(&asked, no));
    let settled = denied.session().settled[&denied.call_seq()];
    assert_eq!(settled.outcome, Outcome::Denied);
}

#[test]
fn result_of_edited_arguments_is_cached_under_them() {
    let tools = paying(|policy| policy.gate_terms.edits = Some(Edits::Allowed)).cached("pay");
    let asked = called(&tools, json!({"cents": 5000})).asked();
    let paid = asked
        .clone()
        .observed(taken(&asked, edited(r#"{"cents":4000}"#)))
        .returned(json!({"paid": 4000}));
    let as_before = paid.clone().call("c2", "pay", json!({"cents": 5000}));
    assert_eq!(as_before.current().phase.name(), "awaiting_confirmation");
    let as_changed = paid.call("c2", "pay", json!({"cents": 4000}));
    assert_eq!(as_changed.kinds().last(), Some(&"response_issued"));
}
