//! Other terms of approval: standing leave, approvers, quorum.

use serde_json::json;

use super::tests::{RETURNED, begun, of_tool, under, verdicts};
use super::*;
use crate::session::{
    Actor, AllowFor, Approvers, Person, ToolConfirmation, ToolPolicyChanges, Verdict,
};
use crate::testing::{History, toolbox};

#[test]
fn call_by_leave_would_have_waited_without_it() {
    let tools = toolbox().gated("pay").may_allow_for_session("pay");
    let asked = begun(&tools).call("c1", "pay", json!({})).asked();
    let given = asked.granted_for("ada", AllowFor::Count(2));
    let told = given.returned(json!({}));
    let told = told.call("c2", "pay", json!({"n": 2})).returned(json!({}));
    let same = under(&told, &PolicyChanges::default());
    assert!(!same.iter().any(CallReport::is_changed), "{same:?}");
    assert_eq!(same[1].recorded.verdict, Some(Verdict::Allowed));
    let asks_each_time = ToolPolicyChanges {
        may_allow_for_session: Some(false),
        ..ToolPolicyChanges::default()
    };
    let calls = under(&told, &of_tool("pay", asks_each_time));
    assert_eq!(calls[0].under.standing, RETURNED);
    assert_eq!(calls[1].under.verdict, Some(Verdict::Ask));
    assert_eq!(calls[1].unknown, Some(Unknown::NobodyAsked));
}

/// The report of a gated call that ada approved, under this quorum.
fn under_quorum(told: &History, quorum: Option<u32>) -> CallReport {
    let policy = ToolPolicyChanges {
        quorum: Some(quorum),
        ..ToolPolicyChanges::default()
    };
    under(told, &of_tool("pay", policy)).remove(0)
}

#[test]
fn one_yes_does_not_run_a_call_that_needs_two() {
    let told = begun(&toolbox().gated("pay"))
        .call("c1", "pay", json!({}))
        .granted("ada")
        .returned(json!({"paid": true}));
    let call = under_quorum(&told, Some(2));
    let [recorded, under] = verdicts(&call);
    assert_eq!(recorded, (Some(Verdict::Ask), RETURNED));
    assert_eq!(under, (Some(Verdict::Ask), Standing::Unknown));
    assert_eq!(call.unknown, Some(Unknown::ApprovalsMissing(1)));
    let same = under_quorum(&told, Some(1));
    assert!(!same.is_changed(), "{same:?}");
    let denied = begun(&toolbox().gated("pay"))
        .call("c1", "pay", json!({}))
        .denied("ada", None);
    assert!(!under_quorum(&denied, Some(2)).is_changed());
}

#[test]
fn answer_of_another_approver_leaves_the_call_unknown() {
    let told = begun(&toolbox().gated("pay"))
        .call("c1", "pay", json!({}))
        .granted("ada")
        .returned(json!({"paid": true}));
    let policy = ToolPolicyChanges {
        approvers: Some([Approvers::names([Person::os_user("ada")])].into()),
        ..ToolPolicyChanges::default()
    };
    let call = under(&told, &of_tool("pay", policy)).remove(0);
    assert_eq!(call.unknown, Some(Unknown::ApprovalsMissing(1)));
}

#[test]
fn recorded_quorum_is_decided_again_with_fewer_and_more() {
    let yes = ToolConfirmation::confirmed;
    let told = begun(&toolbox().gated("pay").quorum("pay", 2))
        .call("c1", "pay", json!({}))
        .answered_by(Actor::os_user("ada"), yes())
        .answered_by(Actor::os_user("bob"), yes())
        .returned(json!({"paid": true}));
    for enough in [None, Some(1), Some(2)] {
        let call = under_quorum(&told, enough);
        assert!(!call.is_changed(), "{enough:?}: {call:?}");
    }
    let call = under_quorum(&told, Some(4));
    assert_eq!(call.unknown, Some(Unknown::ApprovalsMissing(2)));
}
