//! Other limits of asking.

use serde_json::json;

use super::tests::{REFUSED, RETURNED, begun, of_tool, under};
use super::*;
use crate::session::{
    GateChange, Json, OnExpiry, Outcome, Rule, ToolAsked, ToolPolicyChanges, Verdict,
};
use crate::testing::{History, Toolbox, toolbox};

/// Two calls that are asked about, and then approved and run.
fn two_approved() -> History {
    let tools = toolbox().gated("pay");
    let asked = begun(&tools)
        .call("c1", "pay", json!({"n": 1}))
        .call("c2", "pay", json!({"n": 2}));
    let one = asked.about("c1").granted("ada").returned(json!({}));
    let two = one.later(1_000).about("c2").granted("ada");
    two.returned(json!({}))
}

fn open_requests(max: u32) -> PolicyChanges {
    PolicyChanges {
        max_open_requests: Some(Some(max)),
        ..PolicyChanges::default()
    }
}

#[test]
fn fewer_open_requests_refuse_a_call() {
    let calls = under(&two_approved(), &open_requests(1));
    assert!(!calls[0].is_changed(), "{:?}", calls[0]);
    let (recorded, other) = (&calls[1].recorded, &calls[1].under);
    assert_eq!((recorded.standing, other.standing), (RETURNED, REFUSED));
    assert_eq!(
        (other.verdict, other.rule),
        (Some(Verdict::Refused), Some(Rule::Limit))
    );
    assert_eq!(calls[1].unknown, None);
    let calls = under(&two_approved(), &open_requests(2));
    assert!(!calls.iter().any(CallReport::is_changed), "{calls:?}");
}

#[test]
fn limit_beside_an_unanswered_request_is_unknown() {
    let tools = toolbox().plain("pay").gated("order");
    let told = begun(&tools)
        .call("c1", "pay", json!({}))
        .returned(json!({}))
        .call("c2", "order", json!({}))
        .granted("ada")
        .returned(json!({}));
    let gate = ToolPolicyChanges {
        confirm: Some(GateChange::Closed { hint: None }),
        ..ToolPolicyChanges::default()
    };
    let with = |max| PolicyChanges {
        tools: [("pay".to_owned(), gate.clone())].into(),
        ..open_requests(max)
    };
    // The request about the first call might still be open.
    let calls = under(&told, &with(1));
    assert_eq!(calls[0].unknown, Some(Unknown::NobodyAsked));
    assert_eq!(calls[1].unknown, Some(Unknown::DependsOn(calls[0].call)));
    let calls = under(&told, &with(2));
    assert_eq!(calls[1].unknown, None);
}

#[test]
fn approval_beyond_a_limit_per_minute_is_unknown() {
    let changes = |max| PolicyChanges {
        answers_per_minute: Some(Some(max)),
        ..PolicyChanges::default()
    };
    let calls = under(&two_approved(), &changes(1));
    assert!(!calls[0].is_changed(), "{:?}", calls[0]);
    assert_eq!(calls[1].unknown, Some(Unknown::ApprovedTooFast));
    let calls = under(&two_approved(), &changes(2));
    assert!(!calls.iter().any(CallReport::is_changed), "{calls:?}");
}

#[test]
fn unanswered_call_runs_or_not_as_the_other_policy_says() {
    let timed = || toolbox().gated("pay").expires_ms("pay", 60_000);
    let allowing = timed().runs_unanswered("pay");
    let of = |tools: &Toolbox| begun(tools).call("c1", "pay", json!({})).timed_out();
    let on_expiry = |choice| {
        of_tool(
            "pay",
            ToolPolicyChanges {
                confirm_on_expiry: Some(choice),
                ..ToolPolicyChanges::default()
            },
        )
    };
    let ran = of(&allowing).returned(json!({}));
    assert!(!under(&ran, &on_expiry(Some(OnExpiry::Allow)))[0].is_changed());
    let call = &under(&ran, &on_expiry(None))[0];
    assert_eq!(call.recorded.standing, Standing::Ended(Outcome::Returned));
    assert_eq!(call.under.standing, Standing::Ended(Outcome::Expired));
    let denied = of(&timed());
    let call = &under(&denied, &on_expiry(Some(OnExpiry::Allow)))[0];
    assert_eq!(call.unknown, Some(Unknown::NoRun));
    let reason = call.under.reason.as_deref().unwrap_or_default();
    assert!(reason.starts_with("no person answered in time"), "{reason}");
}

/// A run that asks in place is not taken back. One asked for an earlier run has not asked.
#[test]
fn question_of_an_earlier_run_stops_no_later_one() {
    let started = begun(&toolbox().plain("pay")).call("c1", "pay", json!({}));
    let late = ToolAsked {
        call: started.call_seq(),
        attempt: started.attempt() - 1,
        hint: "Pay?".to_owned(),
        payload_schema: None,
        state: Json::empty_object(),
        expires_after_ms: None,
        in_place: true,
    };
    let told = started.observed(late).detached_before_it_began();
    let call = &under(&told, &PolicyChanges::default())[0];
    let attempts = [call.recorded.attempts, call.under.attempts];
    assert_eq!((attempts, call.is_changed()), ([Some(0); 2], false));
}
