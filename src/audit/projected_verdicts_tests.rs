//! The verdict and the outcome of a row, for each way in which a call can end.

use serde_json::{Value, json};

use super::tests::{begun, called, ended, gated, row, rows};
use super::*;
use crate::session::{HookAnswered, Hooks, InDoubt, Json};
use crate::testing::{History, toolbox};

#[test]
fn each_verdict_and_outcome_is_projected() {
    let plain = toolbox().plain("pay");
    let gate = toolbox().gated("pay");
    let hooked = |response: Option<Value>, failure: Option<&str>| {
        let hooks = Hooks {
            on_tool_call: true,
            before_tool_response: false,
        };
        let history = called(&plain.clone().hooks(hooks));
        let call = history.call_seq();
        history.observed(HookAnswered {
            hook: Hook::OnToolCall,
            call,
            of: None,
            response: response.as_ref().map(Json::of),
            failure: failure.map(str::to_owned),
            gated: None,
            by: Some(Actor::embedder("on_tool_call")),
        })
    };
    let by_program = |gated| {
        let history = called(&gate.clone().gated_by_program("pay"));
        let call = history.call_seq();
        history.observed(HookAnswered {
            hook: Hook::ConfirmWhen,
            call,
            of: None,
            response: None,
            failure: None,
            gated: Some(gated),
            by: None,
        })
    };
    let cut_off = |rule: InDoubt| {
        called(&plain.clone().in_doubt("pay", rule))
            .started()
            .attached(&plain.clone().in_doubt("pay", rule))
    };
    let paid = json!({"paid": true});
    let reused = called(&plain.clone().cached("pay"))
        .returned(paid.clone())
        .call("c2", "pay", json!({"cents": 4200}));
    let stories: Vec<(History, &str, Option<Outcome>)> = vec![
        (called(&plain), "allowed_by_rule", None),
        (
            called(&plain).returned(paid.clone()),
            "allowed_by_rule",
            Some(Outcome::Returned),
        ),
        (
            called(&plain).failed_as("execution_failed"),
            "allowed_by_rule",
            Some(Outcome::Failed),
        ),
        (
            called(&plain.clone().timeout_ms("pay", 5)).timed_out(),
            "allowed_by_rule",
            Some(Outcome::TimedOut),
        ),
        (
            called(&plain).cancelled(),
            "allowed_by_rule",
            Some(Outcome::Cancelled),
        ),
        (
            called(&plain).taken_back("c1"),
            "allowed_by_rule",
            Some(Outcome::Withdrawn),
        ),
        (
            cut_off(InDoubt::SettleUnknown),
            "allowed_by_rule",
            Some(Outcome::Unknown),
        ),
        (
            called(&toolbox().long_running("pay"))
                .paused(None)
                .supplied(paid.clone()),
            "allowed_by_rule",
            Some(Outcome::Supplied),
        ),
        (
            by_program(false).returned(paid.clone()),
            "allowed_by_program",
            Some(Outcome::Returned),
        ),
        (by_program(true), "waiting", None),
        (
            called(&gate.clone().gated_by_program("pay")),
            "undecided",
            None,
        ),
        (
            called(&gate.clone().gates_waived("a test")).returned(paid.clone()),
            "gate_waived",
            Some(Outcome::Returned),
        ),
        (gated(), "waiting", None),
        (gated().granted("ada"), "approved", None),
        (
            gated().granted("ada").returned(paid.clone()),
            "approved",
            Some(Outcome::Returned),
        ),
        (
            gated().denied("ada", Some("no")),
            "denied",
            Some(Outcome::Denied),
        ),
        (
            called(&gate.clone().expires_ms("pay", 9)).timed_out(),
            "expired",
            Some(Outcome::Expired),
        ),
        (
            called(&gate.clone().expires_ms("pay", 9).runs_unanswered("pay"))
                .timed_out()
                .returned(paid.clone()),
            "allowed_unanswered",
            Some(Outcome::Returned),
        ),
        (gated().cancelled(), "withdrawn", Some(Outcome::Cancelled)),
        (gated().closed(), "withdrawn", Some(Outcome::Withdrawn)),
        (
            begun(&plain).call("c1", "fly", json!({})),
            "refused_by_policy",
            Some(Outcome::Refused),
        ),
        (
            hooked(Some(paid.clone()), None),
            "answered_by_program",
            Some(Outcome::Supplied),
        ),
        (
            hooked(None, Some("it panicked")),
            "refused_by_program",
            Some(Outcome::Refused),
        ),
        (
            hooked(None, None).returned(paid.clone()),
            "allowed_by_rule",
            Some(Outcome::Returned),
        ),
    ];
    for (history, verdict, outcome) in stories {
        let row = row(&history);
        assert_eq!(
            (row.verdict.as_str(), ended(&row)),
            (verdict, outcome),
            "{row:#?}"
        );
        assert_eq!(row.waits_as.is_none(), outcome.is_some(), "{row:#?}");
    }
    let rows = rows(&reused);
    let last = rows.last().unwrap();
    assert_eq!(
        (last.verdict.as_str(), ended(last)),
        ("result_reused", Some(Outcome::Returned))
    );
    assert!(last.reused.is_some() && last.runs.is_empty(), "{last:#?}");
}
