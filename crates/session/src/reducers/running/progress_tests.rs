use serde_json::json;

use crate::testing::{History, history, toolbox};
use crate::*;

/// A call that has run for six of its ten seconds, under a policy that asks for progress.
fn running(effect: Option<Progress>) -> History {
    let tools = toolbox().plain("import").timeout_ms("import", 10_000);
    let tools = tools.policy("import", |policy| policy.progress = effect);
    let support = history().opened("support").attached(&tools).connected();
    let started = support.call("c1", "import", json!({})).started();
    started.later(6_000)
}

fn reported(history: &History, name: &str, attempt: u32) -> ToolEventEmitted {
    ToolEventEmitted {
        call: history.call_seq(),
        attempt,
        name: name.to_owned(),
        data: Json::of(&json!({"progress": 1})),
    }
}

/// The milliseconds until the run's deadline.
fn left_ms(history: &History) -> Option<i64> {
    owed(history.session()).into_iter().find_map(|it| match it {
        Effect::ArmTimer { due_us, .. } => Some((due_us.0 - history.now().0) / 1_000),
        Effect::RunTool { .. }
        | Effect::AskHook { .. }
        | Effect::AskConfirmation { .. }
        | Effect::SendResponse { .. }
        | Effect::SendInstruction { .. }
        | Effect::CloseSession { .. }
        | Effect::Connect => None,
    })
}

#[test]
fn progress_restarts_the_limit_of_the_run_that_reports_it() {
    for (effect, left) in [
        (None, 4_000),
        (Some(Progress::ExtendsTimeout), 10_000),
        (Some(Progress::Told), 10_000),
    ] {
        let runs = running(effect);
        assert_eq!(left_ms(&runs), Some(4_000));
        let reported = reported(&runs, PROGRESS_EVENT, 1);
        assert_eq!(left_ms(&runs.observed(reported)), Some(left), "{effect:?}");
    }
}

#[test]
fn yielded_results_are_progress() {
    let runs = running(Some(Progress::ExtendsTimeout));
    assert_eq!(left_ms(&runs.yielded(json!({"step": 1}))), Some(10_000));
    let runs = running(None);
    assert_eq!(left_ms(&runs.yielded(json!({"step": 1}))), Some(4_000));
}

#[test]
fn other_events_and_older_attempts_are_no_progress() {
    let runs = running(Some(Progress::ExtendsTimeout));
    let others = [("shipped", 1), (PROGRESS_EVENT, 0), (PROGRESS_EVENT, 2)];
    for (name, attempt) in others {
        let reported = reported(&runs, name, attempt);
        assert_eq!(left_ms(&runs.clone().observed(reported)), Some(4_000));
    }
    let other = ToolYielded {
        runner: Some(Seq(1)),
        ..runs.tool_yielded(&json!({}))
    };
    assert_eq!(left_ms(&runs.observed(other)), Some(4_000));
}

#[test]
fn run_that_reports_no_more_is_cut_off() {
    let runs = running(Some(Progress::Told));
    let reported = reported(&runs, PROGRESS_EVENT, 1);
    let late = runs.observed(reported).later(9_999);
    assert_eq!(left_ms(&late), Some(1));
    assert_eq!(late.timed_out().kinds().last(), Some(&"response_issued"));
}
