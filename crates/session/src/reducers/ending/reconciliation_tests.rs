#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::json;

use crate::testing::{History, Toolbox, given, history, toolbox};
use crate::*;

fn tools() -> Toolbox {
    toolbox().plain("pay").timeout_ms("pay", 1_000)
}

fn running() -> History {
    let support = history().opened("support").attached(&tools()).connected();
    support.call("c1", "pay", json!({"cents": 42})).started()
}

/// A call whose outcome is unknown.
fn unknown() -> History {
    running().detached().attached(&tools())
}

fn reconciles(history: &History, found: Finding, by: &str) -> Command {
    Command::ReconcileOutcome {
        call: history.call_seq(),
        name: "pay".to_owned(),
        found,
        by: Actor::embedder(by),
    }
}

fn receipt() -> Finding {
    Finding::done(&json!({"receipt": 17}))
}

#[test]
fn reconciled_outcome_is_conversation_and_not_a_second_end() {
    for history in [unknown(), running().timed_out()] {
        let before = history.session().settled[&history.call_seq()];
        let epoch = history.epoch();
        let command = reconciles(&history, receipt(), "ada");
        let when = given(&history).when_asked(command);
        let when = when.then_kinds(["outcome_reconciled"]);
        assert_eq!(when.session().settled[&history.call_seq()], before);
        let told = when.session().deliveries.values().next_back().unwrap();
        assert_eq!(told.route, Route::Conversation { epoch });
        assert_eq!(
            (told.outcome, told.wire_id.as_ref()),
            (Outcome::Supplied, None)
        );
    }
    let history = unknown().disconnected();
    let parked = history
        .clone()
        .commanded(reconciles(&history, Finding::failed("no"), "ada"));
    let told = parked.session().deliveries.values().next_back().unwrap();
    assert_eq!((told.route, told.outcome), (Route::Parked, Outcome::Failed));
    let connected = parked.connected();
    let told = connected.session().deliveries.values().next_back().unwrap();
    let epoch = connected.epoch();
    assert_eq!(told.route, Route::Conversation { epoch });
}

#[test]
fn first_reconciliation_counts_and_next_learns_it() {
    let history = unknown();
    let found = history
        .clone()
        .commanded(reconciles(&history, receipt(), "ada"));
    let second = found.rejection(reconciles(&found, Finding::failed("no"), "bob"));
    let Rejection::AlreadyReconciled(reconciled) = &second else {
        panic!("the second word must not count: {second}");
    };
    assert_eq!(
        (reconciled.found, reconciled.by.name.as_str()),
        (FoundAs::Done, "ada")
    );
    // A second finding that bypasses admission changes nothing either.
    let again = OutcomeFound {
        attempt: None,
        call: history.call_seq(),
        tool: "pay".to_owned(),
        found: Finding::failed("no"),
        by: Actor::embedder("eve"),
    };
    given(&found).when(again).then_nothing();
}

#[test]
fn only_what_ended_without_a_known_outcome_can_be_reconciled() {
    let open = running();
    let rejection = open.rejection(reconciles(&open, receipt(), "ada"));
    assert!(matches!(
        rejection,
        Rejection::CallOpen {
            phase: "running",
            ..
        }
    ));
    let paid = running().returned(json!({"paid": true}));
    let rejection = paid.rejection(reconciles(&paid, receipt(), "ada"));
    let outcome = Outcome::Returned;
    assert_eq!(
        rejection,
        Rejection::OutcomeKnown {
            call: paid.call_seq(),
            outcome
        }
    );
    let history = unknown();
    let none = history.rejection(reconciles(&history, Finding::done(&json!(1)), "ada"));
    assert_eq!(none, Rejection::ResponseNotAnObject);
    let closed = unknown().closed();
    let rejection = closed.rejection(reconciles(&closed, receipt(), "ada"));
    assert_eq!(rejection, Rejection::SessionClosed);
    let stranger = Command::ReconcileOutcome {
        call: Seq(99),
        name: "pay".to_owned(),
        found: receipt(),
        by: Actor::embedder("ada"),
    };
    let call = Seq(99);
    assert_eq!(history.rejection(stranger), Rejection::UnknownCall { call });
}

#[test]
fn late_result_of_older_attempt_changes_nothing() {
    let again = tools().in_doubt("pay", InDoubt::Retry);
    let first = history().opened("support").attached(&again).connected();
    let first = first.call("c1", "pay", json!({})).started();
    let late = first.tool_returned(false, &json!({"paid": "first"}));
    let second = first.detached().attached(&again).started();
    assert_eq!(second.attempt(), 2);
    given(&second).when(late.clone()).then_nothing();
    let unknown = unknown();
    given(&unknown).when(late).then_nothing();
}

#[test]
fn reconciliation_of_program_call_sends_nothing() {
    let attached = history().opened("support").attached(&tools()).connected();
    let call = attached.program_call("pay", json!({})).started();
    let history = call.detached().attached(&tools());
    let command = reconciles(&history, receipt(), "ada");
    let when = given(&history).when_asked(command);
    assert!(when.session().deliveries.is_empty());
}

#[test]
fn reconciled_outcome_waits_for_response_hook() {
    let hooks = Hooks {
        before_tool_response: true,
        ..Hooks::default()
    };
    let hooked = unknown().attached(&tools().hooks(hooks));
    let found = hooked
        .clone()
        .commanded(reconciles(&hooked, receipt(), "ada"));
    let reconciled = found.session().head;
    let wording = found.session().deliveries[&reconciled].wording;
    assert_eq!(wording, Wording::AwaitingHook);
}
