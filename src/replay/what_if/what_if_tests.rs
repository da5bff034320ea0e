use std::time::Duration;

use serde_json::json;

use super::*;
use crate::session::{
    CacheChange, Comparison, GateChange, Outcome, PhaseDeclaration, Rule, S, ToolPolicyChanges,
    Transition, Verdict,
};
use crate::testing::{History, Toolbox, history, toolbox};

pub(super) fn begun(tools: &Toolbox) -> History {
    history().opened("support").attached(tools).connected()
}

/// The reports of a history under these changes.
pub(super) fn under(told: &History, changes: &PolicyChanges) -> Vec<CallReport> {
    let library = told.session().library().clone();
    let mut world = WhatIf::new(told.session().id, library, changes);
    told.facts()
        .iter()
        .cloned()
        .for_each(|fact| world.tell(fact));
    world.end().calls
}

pub(super) fn of_tool(tool: &str, policy: ToolPolicyChanges) -> PolicyChanges {
    PolicyChanges {
        tools: [(tool.to_owned(), policy)].into(),
        ..PolicyChanges::default()
    }
}

fn gate(closed: bool) -> ToolPolicyChanges {
    let confirm = if closed {
        GateChange::Closed { hint: None }
    } else {
        GateChange::Open
    };
    ToolPolicyChanges {
        confirm: Some(confirm),
        ..ToolPolicyChanges::default()
    }
}

fn timeout(ms: Option<u64>) -> ToolPolicyChanges {
    ToolPolicyChanges {
        timeout: Some(ms.map(Duration::from_millis)),
        ..ToolPolicyChanges::default()
    }
}

/// The verdict and the status, in both worlds.
pub(super) fn verdicts(call: &CallReport) -> [(Option<Verdict>, Standing); 2] {
    [&call.recorded, &call.under].map(|told| (told.verdict, told.standing))
}

pub(super) const RETURNED: Standing = Standing::Ended(Outcome::Returned);
pub(super) const REFUSED: Standing = Standing::Ended(Outcome::Refused);

#[test]
fn closed_gate_leaves_an_unasked_call_unknown() {
    let told = begun(&toolbox().plain("pay").plain("look"))
        .call("c1", "pay", json!({}))
        .returned(json!({}))
        .call("c2", "look", json!({}))
        .returned(json!({}));
    let calls = under(&told, &of_tool("pay", gate(true)));
    assert_eq!(
        verdicts(&calls[0]),
        [
            (Some(Verdict::Allowed), RETURNED),
            (Some(Verdict::Ask), Standing::Unknown)
        ]
    );
    assert_eq!(calls[0].under.rule, Some(Rule::Confirm));
    assert_eq!(calls[0].unknown, Some(Unknown::NobodyAsked));
    // The other call is decided as recorded, although the model would have received another
    // response before.
    assert!(!calls[1].is_changed(), "{:?}", calls[1]);
    assert_eq!(calls[1].heard, Some(calls[0].call));
}

#[test]
fn granted_call_runs_without_its_gate() {
    let told = begun(&toolbox().gated("pay"))
        .call("c1", "pay", json!({}))
        .later(60_000)
        .granted("ada")
        .later(500)
        .returned(json!({"paid": true}));
    let calls = under(&told, &of_tool("pay", gate(false)));
    assert_eq!(
        verdicts(&calls[0]),
        [
            (Some(Verdict::Ask), RETURNED),
            (Some(Verdict::Allowed), RETURNED)
        ]
    );
    assert_eq!(calls[0].unknown, None);
    // The wait is not part of the run: half a second is within a second, but not within 100 ms.
    let quick = |ms| ToolPolicyChanges {
        timeout: Some(Some(Duration::from_millis(ms))),
        ..gate(false)
    };
    let calls = under(&told, &of_tool("pay", quick(1_000)));
    assert_eq!(calls[0].under.standing, RETURNED);
    let calls = under(&told, &of_tool("pay", quick(100)));
    assert_eq!(calls[0].under.standing, Standing::Ended(Outcome::TimedOut));
}

#[test]
fn call_granted_after_a_restart_runs_without_its_gate() {
    let tools = toolbox().gated("pay");
    let told = begun(&tools)
        .call("c1", "pay", json!({}))
        .detached()
        .attached(&tools)
        .attached(&tools)
        .granted("ada")
        .returned(json!({}));
    let calls = under(&told, &of_tool("pay", gate(false)));
    assert_eq!(calls[0].under.standing, RETURNED, "{:?}", calls[0]);
    assert_eq!(calls[0].unknown, None);
}

#[test]
fn denied_call_without_its_gate_has_an_unknown_outcome() {
    let tools = toolbox()
        .gated("pay")
        .plain("look")
        .plain("see")
        .when("see", S::not(S::is_true("paid")));
    let told = begun(&tools)
        .call("c1", "pay", json!({}))
        .call("c0", "see", json!({}))
        .about("c1")
        .denied("ada", None)
        .call("c2", "look", json!({}))
        .call("c3", "see", json!({}));
    let calls = under(&told, &of_tool("pay", gate(false)));
    assert_eq!(
        verdicts(&calls[0]),
        [
            (Some(Verdict::Ask), Standing::Ended(Outcome::Denied)),
            (Some(Verdict::Allowed), Standing::Unknown)
        ]
    );
    assert_eq!(calls[0].unknown, Some(Unknown::NoRun));
    assert!(!calls[2].is_changed());
    // The unrecorded run may have written what the guard reads, during the run and later.
    for see in [1, 3] {
        assert_eq!(calls[see].unknown, Some(Unknown::DependsOn(calls[0].call)));
        assert_eq!(calls[see].under.verdict, None);
    }
}

#[test]
fn limit_refuses_the_third_call() {
    let told = (1..=3).fold(begun(&toolbox().plain("pay")), |told, n| {
        told.call(&format!("c{n}"), "pay", json!({}))
            .returned(json!({}))
            .later(40_000)
    });
    let limit = |session, minute| ToolPolicyChanges {
        limit_per_session: Some(session),
        limit_per_minute: Some(minute),
        ..ToolPolicyChanges::default()
    };
    let calls = under(&told, &of_tool("pay", limit(Some(2), None)));
    assert!(!calls[0].is_changed() && !calls[1].is_changed());
    assert_eq!(
        verdicts(&calls[2]),
        [
            (Some(Verdict::Allowed), RETURNED),
            (Some(Verdict::Refused), REFUSED)
        ]
    );
    assert_eq!(calls[2].under.rule, Some(Rule::Limit));
    assert!(calls[2].under.reason.as_ref().unwrap().contains("2 times"));
    let calls = under(&told, &of_tool("pay", limit(None, Some(1))));
    let refused: Vec<bool> = calls.iter().map(CallReport::is_changed).collect();
    // The third call comes 80 s after the first, which is the only one that counted.
    assert_eq!(refused, [false, true, false]);
}

#[test]
fn shorter_time_limit_ends_a_run_and_longer_one_is_unknown() {
    let tools = toolbox().plain("pay").timeout_ms("pay", 5_000);
    let told = begun(&tools)
        .call("c1", "pay", json!({}))
        .later(3_000)
        .returned(json!({}))
        .call("c2", "pay", json!({}))
        .timed_out();
    let calls = under(&told, &of_tool("pay", timeout(Some(2_000))));
    assert_eq!(calls[0].under.standing, Standing::Ended(Outcome::TimedOut));
    assert_eq!(calls[0].unknown, None);
    assert!(!calls[1].is_changed());
    for longer in [Some(6_000), None] {
        let calls = under(&told, &of_tool("pay", timeout(longer)));
        assert!(!calls[0].is_changed());
        assert_eq!(calls[1].unknown, Some(Unknown::RunsOn));
        assert_eq!(
            calls[1].recorded.standing,
            Standing::Ended(Outcome::TimedOut)
        );
    }
    let shorter_by_default = PolicyChanges {
        defaults: timeout(Some(2_999)),
        ..PolicyChanges::default()
    };
    let calls = under(&told, &shorter_by_default);
    assert_eq!(calls[0].under.standing, Standing::Ended(Outcome::TimedOut));
}

#[test]
fn waiting_in_place_counts_towards_no_time_limit() {
    let told = begun(&toolbox().plain("pay"))
        .call("c1", "pay", json!({}))
        .later(1_000)
        .asks_in_place("Sure?")
        .later(50_000)
        .granted("ada")
        .later(1_000)
        .returned(json!({}));
    let calls = under(&told, &of_tool("pay", timeout(Some(3_000))));
    assert!(!calls[0].is_changed(), "{:?}", calls[0]);
    let calls = under(&told, &of_tool("pay", timeout(Some(1_500))));
    assert_eq!(calls[0].under.standing, Standing::Ended(Outcome::TimedOut));
}

#[test]
fn tool_without_retries_runs_fewer_times() {
    let tools = toolbox().plain("pay").retried("pay", 2, 100).plain("look");
    let told = begun(&tools)
        .call("c1", "pay", json!({}))
        .failed(json!({}))
        .timed_out()
        .failed(json!({}))
        .call("c2", "look", json!({}))
        .returned(json!({}));
    let retry = |retry| ToolPolicyChanges {
        retry: Some(retry),
        ..ToolPolicyChanges::default()
    };
    let attempts = |call: &CallReport| [call.recorded.attempts, call.under.attempts];
    let same = under(&told, &PolicyChanges::default());
    assert_eq!(attempts(&same[0]), [Some(2), Some(2)]);
    assert!(same.iter().all(|it| !it.is_changed() && it.heard.is_none()));
    let calls = under(&told, &of_tool("pay", retry(None)));
    let failed = Standing::Ended(Outcome::Failed);
    assert_eq!(
        verdicts(&calls[0]),
        [
            (Some(Verdict::Allowed), failed),
            (Some(Verdict::Allowed), failed)
        ]
    );
    assert_eq!(attempts(&calls[0]), [Some(2), Some(1)]);
    assert!(calls[0].is_changed() && !calls[1].is_changed());
    assert_eq!(calls[1].heard, Some(calls[0].call));
    // A third run is not recorded.
    let more = crate::session::Retry {
        attempts_max: 3,
        backoff_ms: 100,
    };
    let calls = under(&told, &of_tool("pay", retry(Some(more))));
    assert_eq!(calls[0].recorded.attempts, Some(2));
    assert!(calls[0].unknown.is_some() && calls[0].under.attempts.is_none());
}

#[test]
fn answer_after_an_earlier_expiry_does_not_count() {
    let told = begun(&toolbox().expires_ms("pay", 60_000).plain("pay"))
        .call("c1", "pay", json!({}))
        .later(30_000)
        .granted("ada")
        .returned(json!({}))
        .call("c2", "pay", json!({}))
        .timed_out();
    let expires = |ms| {
        let policy = ToolPolicyChanges {
            confirm_expires_after: Some(Some(Duration::from_millis(ms))),
            ..ToolPolicyChanges::default()
        };
        under(&told, &of_tool("pay", policy))
    };
    let calls = expires(10_000);
    assert_eq!(calls[0].under.standing, Standing::Ended(Outcome::Expired));
    assert!(!calls[1].is_changed());
    let calls = expires(90_000);
    assert!(!calls[0].is_changed());
    assert_eq!(calls[1].unknown, Some(Unknown::AskedLonger));
}

#[test]
fn phase_without_the_tool_refuses_the_call() {
    let told = begun(&toolbox().plain("pay").plain("verify"))
        .call("c1", "pay", json!({}))
        .returned(json!({}));
    let told = told
        .call("c2", "verify", json!({}))
        .tool_state("verified", json!(true))
        .returned(json!({}))
        .call("c3", "pay", json!({}))
        .returned(json!({}));
    let verify = PhaseDeclaration {
        name: "verify".to_owned(),
        tools: Some(["verify".to_owned()].into()),
        transitions: vec![Transition {
            to: "pay".to_owned(),
            when: S::is_true("verified"),
        }],
        ..PhaseDeclaration::default()
    };
    let pay = PhaseDeclaration {
        name: "pay".to_owned(),
        ..PhaseDeclaration::default()
    };
    let changes = PolicyChanges {
        phases: Some(vec![verify, pay]),
        ..PolicyChanges::default()
    };
    let calls = under(&told, &changes);
    assert_eq!(calls[0].under.verdict, Some(Verdict::Refused));
    assert_eq!(calls[0].under.rule, Some(Rule::Phase));
    assert!(!calls[1].is_changed() && !calls[2].is_changed());
    // If the tool that leads to the next phase does not run, the phase is unknown.
    let gated = PolicyChanges {
        tools: [("verify".to_owned(), gate(true))].into(),
        ..changes
    };
    let calls = under(&told, &gated);
    assert_eq!(calls[1].unknown, Some(Unknown::NobodyAsked));
    assert_eq!(calls[2].unknown, Some(Unknown::DependsOn(calls[1].call)));
}

#[test]
fn state_of_a_changed_call_is_unknown_until_written_again() {
    let tools = toolbox()
        .plain("verify")
        .plain("set")
        .plain("pay")
        .when("pay", S::is_true("verified"));
    let told = begun(&tools)
        .call("c1", "verify", json!({}))
        .tool_state("verified", json!(true))
        .returned(json!({}))
        .call("c2", "pay", json!({}))
        .returned(json!({}));
    let told = told
        .call("c3", "set", json!({}))
        .tool_state("verified", json!(true))
        .returned(json!({}))
        .call("c4", "pay", json!({}))
        .returned(json!({}));
    let calls = under(&told, &of_tool("verify", gate(true)));
    assert_eq!(calls[1].unknown, Some(Unknown::DependsOn(calls[0].call)));
    assert_eq!(
        calls[1].under,
        Told {
            standing: Standing::Unknown,
            ..Told::default()
        }
    );
    assert!(!calls[2].is_changed() && !calls[3].is_changed());
}

#[test]
fn limit_that_an_unknown_call_may_fill_is_unknown() {
    let tools = toolbox()
        .plain("verify")
        .plain("pay")
        .when("pay", S::is_true("verified"))
        .per_session("pay", 2);
    let told = begun(&tools)
        .call("c1", "verify", json!({}))
        .tool_state("verified", json!(true))
        .returned(json!({}));
    let told = told.call("c2", "pay", json!({})).returned(json!({}));
    // The program writes the key itself, so from here on the state is known.
    let told = told.state("verified", json!(true));
    let told = (3..=5).fold(told, |told, n| {
        told.call(&format!("c{n}"), "pay", json!({}))
    });
    let calls = under(&told, &of_tool("verify", gate(true)));
    assert_eq!(calls[1].unknown, Some(Unknown::DependsOn(calls[0].call)));
    // One call counts for certain, and one perhaps. So the second verdict is known, and the third
    // is not.
    assert!(!calls[2].is_changed(), "{:?}", calls[2]);
    assert_eq!(calls[3].unknown, Some(Unknown::DependsOn(calls[1].call)));
}

#[test]
fn missing_result_answers_no_equal_call() {
    let tools = toolbox()
        .plain("look")
        .cached("look")
        .plain("see")
        .cached("see");
    let told = begun(&tools)
        .call("c1", "look", json!({"n": 1}))
        .returned(json!({}))
        .call("c2", "look", json!({"n": 1}))
        .call("c3", "look", json!({"n": 2}))
        .returned(json!({}));
    let above = S::equals("args:n", 1);
    let asked = ToolPolicyChanges {
        confirm_when: Some(Some(above)),
        ..ToolPolicyChanges::default()
    };
    let calls = under(&told, &of_tool("look", asked));
    assert_eq!(calls[0].unknown, Some(Unknown::NobodyAsked));
    assert_eq!(calls[1].recorded.rule, Some(Rule::Cached));
    assert_eq!(calls[1].unknown, Some(Unknown::DependsOn(calls[0].call)));
    assert!(!calls[2].is_changed());
    // Without the cache the second call would have run, but it has no recorded run.
    let off = ToolPolicyChanges {
        cached: Some(CacheChange::Off),
        ..ToolPolicyChanges::default()
    };
    let calls = under(&told, &of_tool("look", off));
    assert_eq!(calls[1].under.rule, Some(Rule::Default));
    assert_eq!(calls[1].unknown, Some(Unknown::NoRun));
}

#[test]
fn gate_by_amount_asks_about_large_calls_only() {
    let told = [10, 5_000]
        .into_iter()
        .fold(begun(&toolbox().gated("pay")), |told, cents| {
            told.call(&format!("c{cents}"), "pay", json!({"cents": cents}))
                .granted("ada")
                .returned(json!({}))
        });
    let large = ToolPolicyChanges {
        confirm_when: Some(Some(S::compares("args:cents", Comparison::Greater, 1_000))),
        ..ToolPolicyChanges::default()
    };
    let calls = under(&told, &of_tool("pay", large));
    assert_eq!(calls[0].under.verdict, Some(Verdict::Allowed));
    assert!(calls[0].is_changed() && !calls[1].is_changed());
}

#[test]
fn call_that_waited_for_a_slot_is_unchanged() {
    let tools = toolbox().plain("pay").running_max(1);
    let told = begun(&tools)
        .call("c1", "pay", json!({}))
        .call("c2", "pay", json!({"n": 2}))
        .taken_back("c2")
        .call("c3", "pay", json!({"n": 3}));
    let calls = under(&told, &PolicyChanges::default());
    assert!(!calls.iter().any(CallReport::is_changed), "{calls:?}");
    assert_eq!(calls[2].recorded.standing, Standing::Ready);
}

#[test]
fn run_with_edited_arguments_is_unknown_without_the_gate() {
    let tools = toolbox().gated("pay").policy("pay", |policy| {
        policy.gate_terms.edits = Some(crate::session::Edits::Allowed);
    });
    let asked = begun(&tools).call("c1", "pay", json!({"cents": 5}));
    let edited = crate::session::Command::AnswerConfirmation {
        request: asked.request(),
        answer: Ok(crate::session::ToolConfirmation::confirmed().with_args(json!({"cents": 4}))),
        by: crate::session::Actor::embedder("ada"),
    };
    let told = asked.commanded(edited).returned(json!({}));
    let calls = under(&told, &of_tool("pay", gate(false)));
    assert_eq!(calls[0].unknown, Some(Unknown::WithoutAnswer));
}
