#![expect(
    clippy::indexing_slicing,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::json;

use crate::testing::{History, Toolbox, given, history, toolbox};
use crate::*;

fn tools() -> Toolbox {
    toolbox().plain("look").retried("look", 3, 100)
}

fn running(tools: &Toolbox) -> History {
    let support = history().opened("support").attached(tools).connected();
    support.call("c1", "look", json!({})).started()
}

fn settled(history: &History) -> Outcome {
    history.session().settled[&history.call_seq()].outcome
}

/// The recorded waits in milliseconds, each with the number of the next start.
fn waits(history: &History) -> Vec<(u32, i64)> {
    let facts = history.facts().iter();
    let wait = |fact: &Fact| match &fact.event {
        Event::Decided(Decision::RetryScheduled(it)) => {
            Some((it.attempt, (it.due_us.0 - fact.at.0) / 1000))
        }
        Event::Decided(_) | Event::Observed(_) => None,
    };
    facts.filter_map(wait).collect()
}

/// Lets the tool fail and the following wait pass.
fn failed_and_waited(history: History) -> History {
    history
        .failed(json!({"error": "busy"}))
        .timed_out()
        .started()
}

#[test]
fn failed_idempotent_run_is_retried_after_a_wait() {
    let running = running(&tools());
    let (call, attempt) = (running.call_seq(), 2);
    let due_us = running.now().after_ms(100);
    let deadline = Deadline::Retry { call, attempt };
    given(&running)
        .when(running.tool_returned(true, &json!({"error": "busy"})))
        .then([RetryScheduled {
            call,
            attempt,
            due_us,
        }
        .into()])
        .owing([Effect::ArmTimer { deadline, due_us }]);
    let again = failed_and_waited(running);
    assert_eq!(again.attempt(), 2);
    assert_eq!(settled(&again.returned(json!({}))), Outcome::Returned);
}

#[test]
fn waits_double_and_last_failure_is_sent() {
    let third = failed_and_waited(failed_and_waited(running(&tools())));
    let failed = third.failed(json!({"error": "busy"}));
    assert_eq!(waits(&failed), [(2, 100), (3, 200)]);
    assert_eq!(settled(&failed), Outcome::Failed);
    let settled = failed.session().settled[&failed.call_seq()];
    assert_eq!(settled.attempts, 3);
    let told = failed.told();
    assert_eq!((told.len(), told[0].outcome), (1, Outcome::Failed));
}

#[test]
fn a_tool_that_is_not_declared_idempotent_is_never_run_again() {
    for rule in [InDoubt::SettleUnknown, InDoubt::Ask] {
        let tools = tools().in_doubt("look", rule);
        let failed = running(&tools).failed(json!({"error": "busy"}));
        assert_eq!(
            (settled(&failed), waits(&failed)),
            (Outcome::Failed, vec![])
        );
    }
}

#[test]
fn an_idempotent_tool_without_the_policy_is_not_run_again() {
    let tools = toolbox().plain("look").in_doubt("look", InDoubt::Retry);
    let failed = running(&tools).failed(json!({"error": "busy"}));
    assert_eq!(settled(&failed), Outcome::Failed);
}

#[test]
fn error_in_the_call_itself_is_not_retried() {
    for kind in ["invalid_args", "not_found", "cancelled", "not_available"] {
        let failed = running(&tools()).failed_as(kind);
        assert_eq!(settled(&failed), Outcome::Failed, "{kind}");
    }
    for kind in ["execution_failed", "timeout", "panicked"] {
        let failed = running(&tools()).failed_as(kind);
        assert_eq!(failed.current().phase.name(), "retrying", "{kind}");
    }
}

#[test]
fn timed_out_run_is_retried() {
    let tools = tools().timeout_ms("look", 1_000);
    let late = running(&tools).tool_returned(false, &json!({}));
    let retrying = running(&tools).timed_out();
    assert_eq!(waits(&retrying), [(2, 100)]);
    given(&retrying).when(late.clone()).then_nothing();
    let again = retrying.timed_out().started();
    given(&again).when(late).then_nothing();
    let mut last = again.timed_out().timed_out().started();
    assert_eq!(last.attempt(), 3);
    last = last.timed_out();
    assert_eq!(settled(&last), Outcome::TimedOut);
}

#[test]
fn call_waiting_for_retry_can_be_cancelled() {
    let retrying = running(&tools()).failed(json!({"error": "busy"}));
    let cancelled = retrying.clone().cancelled();
    assert_eq!(settled(&cancelled), Outcome::Cancelled);
    given(&cancelled).when(due(&retrying)).then_nothing();
    assert_eq!(
        settled(&retrying.clone().taken_back("c1")),
        Outcome::Withdrawn
    );
    let closed = retrying.clone().closed();
    assert_eq!(settled(&closed), Outcome::Withdrawn);
    given(&closed).when(due(&retrying)).then_nothing().owing([]);
}

/// The deadline of the wait passes.
fn due(retrying: &History) -> DeadlinePassed {
    let Phase::Retrying { attempt, due, .. } = retrying.current().phase else {
        unreachable!("the call waits for its next run");
    };
    let call = retrying.call_seq();
    DeadlinePassed {
        deadline: Deadline::Retry { call, attempt },
        due_us: due,
    }
}

#[test]
fn deadline_of_another_run_changes_nothing() {
    let retrying = running(&tools()).failed(json!({"error": "busy"}));
    for attempt in [1, 3] {
        let other = DeadlinePassed {
            deadline: Deadline::Retry {
                call: retrying.call_seq(),
                attempt,
            },
            ..due(&retrying)
        };
        given(&retrying).when(other).then_nothing();
    }
    let again = retrying.clone().timed_out().started();
    given(&again).when(due(&retrying)).then_nothing();
}

#[test]
fn retry_without_runner_waits_for_the_next_runner() {
    let retrying = running(&tools())
        .failed(json!({"error": "busy"}))
        .detached();
    let waiting = retrying.clone().timed_out();
    assert_eq!(waiting.session().running(), 0);
    assert_eq!(waiting.attached(&tools()).started().attempt(), 2);
    // In the other order, the wait continues under the new runner.
    let attached = retrying.attached(&tools());
    assert_eq!(attached.session().running(), 0);
    assert_eq!(attached.timed_out().started().attempt(), 2);
}

#[test]
fn unrecorded_retry_deadline_is_overdue() {
    let retrying = running(&tools())
        .failed(json!({"error": "busy"}))
        .detached();
    let at = retrying.now().after_ms(100);
    assert_eq!(overdue(retrying.session(), at), [due(&retrying).into()]);
    assert_eq!(overdue(retrying.session(), retrying.now()), []);
}

#[test]
fn an_approval_holds_for_the_next_run_of_the_same_contract_only() {
    let tools = tools().gated("look");
    let support = history().opened("support").attached(&tools).connected();
    let granted = support.call("c1", "look", json!({})).granted("ada");
    let retrying = granted.failed(json!({"error": "busy"}));
    assert_eq!(retrying.clone().timed_out().started().attempt(), 2);
    let changed = retrying.attached(&tools.changed("look"));
    let asked = changed.timed_out().asked();
    assert_eq!(asked.clone().granted("ada").started().attempt(), 2);
    assert_eq!(settled(&asked.denied("ada", None)), Outcome::Unknown);
}

#[test]
fn gate_declared_meanwhile_asks_before_retry() {
    let retrying = running(&tools()).failed(json!({"error": "busy"}));
    let gated = retrying
        .attached(&tools().gated("look"))
        .timed_out()
        .asked();
    assert_eq!(gated.granted("ada").started().attempt(), 2);
}

#[test]
fn tool_no_longer_idempotent_is_not_retried() {
    let retrying = running(&tools()).failed(json!({"error": "busy"}));
    let careful = tools().in_doubt("look", InDoubt::SettleUnknown);
    let unknown = retrying.clone().attached(&careful).timed_out();
    assert_eq!(settled(&unknown), Outcome::Unknown);
    // The same holds if the deadline passed while no runner was attached.
    let unknown = retrying.clone().detached().timed_out().attached(&careful);
    assert_eq!(settled(&unknown), Outcome::Unknown);
    let ask = tools().in_doubt("look", InDoubt::Ask);
    let asked = retrying.attached(&ask).timed_out().asked();
    assert_eq!(asked.granted("ada").started().attempt(), 2);
}

#[test]
fn scheduling_of_an_earlier_run_is_dropped() {
    let first = running(&tools());
    let interrupting = ToolReturned {
        scheduling: Some(FunctionResponseScheduling::Interrupt),
        ..first.tool_returned(true, &json!({}))
    };
    let paused = first.observed(interrupting).timed_out().paused(None);
    let supplied = paused.supplied(json!({}));
    assert_eq!(supplied.told()[0].scheduling, None);
}
