#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::json;

use crate::testing::{History, Toolbox, given, history, toolbox};
use crate::*;

fn tools() -> Toolbox {
    let tools = toolbox().plain("look_up").gated("refund").plain("pay");
    tools.agent("research", ["look_up"])
}

fn support(tools: &Toolbox) -> History {
    history().opened("support").attached(tools).connected()
}

fn paused(scope: PauseScope) -> Paused {
    Paused {
        journal_record: scope.is_of_journal().then_some(Seq(7)),
        scope,
        reason: Some("wrong prices".into()),
        by: Actor::embedder("ada"),
        not_begun: vec![],
        rules: RULES_OF_PAUSES,
    }
}

fn unpaused(scope: PauseScope) -> Unpaused {
    Unpaused {
        journal_record: scope.is_of_journal().then_some(Seq(8)),
        scope,
        reason: None,
        by: Actor::embedder("ada"),
        rules: RULES_OF_PAUSES,
    }
}

fn pause(tool: Option<&str>) -> Command {
    Command::Pause(PauseCommand {
        tool: tool.map(str::to_owned),
        reason: None,
        by: Actor::embedder("bob"),
    })
}

fn unpause(tool: Option<&str>) -> Command {
    Command::Unpause(PauseCommand {
        tool: tool.map(str::to_owned),
        reason: None,
        by: Actor::embedder("bob"),
    })
}

fn tool(name: &str) -> PauseScope {
    PauseScope::Tool(name.to_owned())
}

/// Each scope holds a call that needs no approval, and the end of the pause starts it.
#[test]
fn pause_of_any_scope_holds_an_ungated_call() {
    let agent = PauseScope::Agent("support".into());
    for scope in [
        PauseScope::Session,
        tool("pay"),
        agent,
        PauseScope::Everything,
    ] {
        let held = support(&tools()).observed(paused(scope.clone()));
        let held = held.call("c1", "pay", json!({}));
        assert!(
            matches!(held.current().phase, Phase::Ready { .. }),
            "{scope}"
        );
        given(&held)
            .when(unpaused(scope))
            .then_kinds(["call_started"]);
    }
}

#[test]
fn pause_of_a_tool_holds_no_other_tool() {
    let held = support(&tools()).observed(paused(tool("refund")));
    assert!(held.call("c1", "pay", json!({})).current().runs());
}

/// The question, the answer and the expiry go on, and the approved call waits.
#[test]
fn approval_goes_on_while_paused() {
    let held = support(&tools()).observed(paused(PauseScope::Session));
    let asked = held.call("c1", "refund", json!({}));
    let granted = asked.granted("ada");
    assert!(matches!(granted.current().phase, Phase::Ready { .. }));
    given(&granted)
        .when(unpaused(PauseScope::Session))
        .then_kinds(["call_started"]);
}

#[test]
fn running_call_continues_while_paused() {
    let running = support(&tools()).call("c1", "pay", json!({}));
    let held = running.observed(paused(PauseScope::Everything));
    let returned = held.tool_returned(false, &json!({}));
    given(&held).when(returned).then_kinds(["response_issued"]);
}

/// Both pauses must end.
#[test]
fn call_held_by_two_pauses_waits_for_both_ends() {
    let held = support(&tools()).observed(paused(PauseScope::Session));
    let held = held.observed(paused(PauseScope::Everything));
    let held = held.call("c1", "pay", json!({}));
    given(&held)
        .when(unpaused(PauseScope::Session))
        .then_nothing();
    let lifted = held.observed(unpaused(PauseScope::Session));
    given(&lifted)
        .when(unpaused(PauseScope::Everything))
        .then_kinds(["call_started"]);
}

#[test]
fn failed_run_is_not_retried_while_paused() {
    let tools = toolbox().plain("pay").retried("pay", 3, 10);
    let running = support(&tools).call("c1", "pay", json!({}));
    let held = running.observed(paused(PauseScope::Session));
    let due = held.failed(json!({})).later(1_000);
    let retry = DeadlinePassed {
        deadline: Deadline::Retry {
            call: due.call_seq(),
            attempt: 2,
        },
        due_us: due.now(),
    };
    given(&due).when(retry.clone()).then_nothing();
    let lifted = due.observed(retry);
    given(&lifted)
        .when(unpaused(PauseScope::Session))
        .then_kinds(["call_started"]);
}

/// A call in doubt whose rule is a retry waits, too.
#[test]
fn call_in_doubt_is_not_started_again_while_paused() {
    let tools = toolbox().plain("pay").in_doubt("pay", InDoubt::Retry);
    let running = support(&tools).call("c1", "pay", json!({}));
    let held = running.observed(paused(PauseScope::Session)).detached();
    let again = held.attached(&tools);
    assert!(matches!(again.current().phase, Phase::InDoubt { .. }));
    given(&again)
        .when(unpaused(PauseScope::Session))
        .then_kinds(["call_started"]);
}

/// A pause outlives the process: the next runner starts nothing.
#[test]
fn ready_call_does_not_start_on_attach_while_paused() {
    let held = support(&tools()).observed(paused(PauseScope::Everything));
    let held = held.call("c1", "pay", json!({})).detached();
    let again = held.attached(&tools());
    assert!(matches!(again.current().phase, Phase::Ready { .. }));
}

/// The time limit begins with the start, so the wait does not consume it.
#[test]
fn time_limit_begins_after_the_pause() {
    let tools = toolbox().plain("pay").timeout_ms("pay", 5_000);
    let held = support(&tools).observed(paused(PauseScope::Session));
    let held = held.call("c1", "pay", json!({})).later(60_000);
    let due = held.now().after_ms(5_000);
    let lifted = given(&held).when(unpaused(PauseScope::Session));
    let Decision::CallStarted(started) = lifted.decided("call_started") else {
        panic!("another decision")
    };
    assert_eq!(started.deadline_us, Some(due));
}

/// A start whose tool had not begun, because it waited for a slot, is taken back and counts again.
#[test]
fn start_that_had_not_begun_is_taken_back() {
    let started = support(&tools()).call("c1", "pay", json!({}));
    let start = Start {
        call: started.call_seq(),
        attempt: 1,
    };
    let held = started.observed(Paused {
        not_begun: vec![start],
        ..paused(PauseScope::Session)
    });
    assert!(matches!(held.current().phase, Phase::Ready { .. }));
    assert_eq!(owed(held.session()), []);
    let lifted = held.observed(unpaused(PauseScope::Session));
    assert_eq!((lifted.current().runs(), lifted.attempt()), (true, 1));
}

/// The result of an equal call is reused: nothing starts.
#[test]
fn cached_result_is_reused_while_paused() {
    let tools = toolbox().plain("look_up").cached("look_up");
    let known = support(&tools).call("c1", "look_up", json!({}));
    let held = known.returned(json!({"n": 1}));
    let held = held.observed(paused(PauseScope::Session));
    let again = held.call("c2", "look_up", json!({}));
    assert!(
        again
            .kinds()
            .ends_with(&["result_reused", "response_issued"])
    );
}

#[test]
fn close_ends_every_pause() {
    let closed = support(&tools())
        .observed(paused(PauseScope::Session))
        .closed();
    assert!(closed.session().pauses.is_empty());
    let refused = closed.rejection(pause(None));
    assert_eq!(refused, Rejection::SessionClosed);
    assert_eq!(closed.rejection(unpause(None)), Rejection::SessionClosed);
}

#[test]
fn second_pause_of_a_scope_is_refused_with_the_first() {
    let held = support(&tools()).commanded(pause(Some("pay")));
    let first = held.session().pauses.of(&tool("pay")).cloned();
    let first = first.expect("it is in force");
    assert_eq!(
        held.rejection(pause(Some("pay"))),
        Rejection::AlreadyPaused(Box::new(first))
    );
    // Another scope is another pause.
    assert_eq!(
        held.commanded(pause(None)).session().pauses.iter().count(),
        2
    );
}

#[test]
fn pause_that_would_hold_nothing_is_refused() {
    let tool = "refnud".to_owned();
    let refused = support(&tools()).rejection(pause(Some("refnud")));
    assert_eq!(refused, Rejection::UnknownTool { tool });
}

#[test]
fn end_of_a_pause_that_is_not_in_force_is_refused() {
    let scope = PauseScope::Session;
    let free = support(&tools()).observed(paused(PauseScope::Everything));
    assert_eq!(
        free.rejection(unpause(None)),
        Rejection::NotPaused { scope }
    );
    let lifted = free.commanded(pause(None)).commanded(unpause(None));
    assert_eq!(lifted.session().pauses.iter().count(), 1);
}

/// The pause of an agent's tool holds its next turn, and the calls that its run made.
#[test]
fn pause_of_an_agents_tool_holds_its_calls() {
    let asks = support(&tools())
        .call("c1", "research", json!({}))
        .asks_model();
    let held = asks.observed(paused(tool("research")));
    let inner = held.model_calls(&["look_up"]);
    let open: Vec<&Phase> = inner.session().calls.values().map(|it| &it.phase).collect();
    assert!(matches!(
        open[..],
        [Phase::AwaitingCalls { open: 1, .. }, Phase::Ready { .. }]
    ));
    let lifted = inner.observed(unpaused(tool("research")));
    assert_eq!(lifted.session().running(), 1);
}

#[test]
fn pause_is_listed_as_open_work() {
    let held = support(&tools()).observed(paused(PauseScope::Session));
    let at = held.session().head;
    let listed: Vec<(Seq, OpenKind)> = open_work(held.session())
        .into_iter()
        .map(|(seq, it)| (seq, it.kind))
        .collect();
    assert_eq!(listed, [(Seq(1), OpenKind::Session), (at, OpenKind::Pause)]);
    let lifted = held.observed(unpaused(PauseScope::Session));
    assert_eq!(open_work(lifted.session()).len(), 1);
}

/// A program that does not know the rules of pauses must not serve the session.
#[test]
fn pause_names_the_rules_that_it_needs() {
    let of = |it: Observation| it.rules();
    assert_eq!(of(paused(PauseScope::Session).into()), Some(2));
    assert_eq!(of(unpaused(PauseScope::Session).into()), Some(2));
}
