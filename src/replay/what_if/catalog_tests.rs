use serde_json::json;

use crate::replay::what_if::{CallReport, Standing, Unknown, WhatIf};
use crate::session::{GateChange, Outcome, PolicyChanges, Rule, ToolPolicyChanges, Verdict};
use crate::testing::{History, Toolbox, history, toolbox};

fn begun(tools: &Toolbox) -> History {
    history().opened("support").attached(tools).connected()
}

fn gated(tool: &str) -> PolicyChanges {
    let gate = ToolPolicyChanges {
        confirm: Some(GateChange::Closed { hint: None }),
        ..ToolPolicyChanges::default()
    };
    PolicyChanges {
        tools: [(tool.to_owned(), gate)].into(),
        ..PolicyChanges::default()
    }
}

fn under(told: &History, changes: &PolicyChanges) -> Vec<CallReport> {
    let library = told.session().library().clone();
    let mut world = WhatIf::new(told.session().id, library, changes);
    let facts = told.facts().iter().cloned();
    facts.for_each(|fact| world.tell(fact));
    world.end().calls
}

/// The other policies hold for a tool that came while the session lived, and for one that came
/// again.
#[test]
fn other_policies_hold_for_a_tool_that_came_later() {
    let (look, both) = (
        toolbox().plain("look"),
        toolbox().plain("look").plain("pay"),
    );
    let told = begun(&look).tools_changed(&both);
    let told = told.call("c1", "pay", json!({})).returned(json!({}));
    let told = told.tools_changed(&look).tools_changed(&both);
    let told = told.call("c2", "pay", json!({})).returned(json!({}));
    let calls = under(&told, &gated("pay"));
    for call in &calls {
        assert_eq!(call.recorded.verdict, Some(Verdict::Allowed));
        assert_eq!(call.under.verdict, Some(Verdict::Ask));
        assert_eq!(call.under.rule, Some(Rule::Confirm));
        assert_eq!(call.unknown, Some(Unknown::NobodyAsked));
    }
    assert_eq!(calls.len(), 2);
    let same = under(&told, &PolicyChanges::default());
    assert!(same.iter().all(|it| !it.is_changed()), "{same:?}");
}

/// A change of tools doubts nothing in the other world, either: a run on record stands for the run
/// there, also if its tool went meanwhile.
#[test]
fn run_over_a_changed_catalog_stands_for_both_worlds() {
    let both = toolbox().plain("look").plain("pay");
    let running = begun(&both).call("c1", "pay", json!({})).started();
    let told = running.tools_changed(&toolbox().plain("look"));
    let told = told.returned(json!({"paid": true}));
    for changes in [PolicyChanges::default(), gated("look")] {
        let calls = under(&told, &changes);
        let returned = Standing::Ended(Outcome::Returned);
        assert_eq!(calls[0].under.standing, returned);
        assert!(!calls[0].is_changed(), "{calls:?}");
    }
}

/// A call is refused on record because its tool is gone, and so it is in the other world.
#[test]
fn tool_that_went_is_unknown_in_both_worlds() {
    let told = begun(&toolbox().plain("look").plain("pay"));
    let told = told.tools_changed(&toolbox().plain("look"));
    let calls = under(&told.call("c1", "pay", json!({})), &gated("pay"));
    let refused = Standing::Ended(Outcome::Refused);
    assert_eq!(calls[0].under.standing, refused);
    assert!(!calls[0].is_changed(), "{calls:?}");
}

/// A client's run goes on over the change of its tool, in both worlds.
#[test]
fn claim_over_a_changed_catalog_stands_for_both_worlds() {
    let told = begun(&toolbox().at_client("pack"));
    let held = told.call("c1", "pack", json!({})).claimed("w1", 60_000);
    let told = held
        .tools_changed(&toolbox().plain("pack"))
        .returned(json!({}));
    let calls = under(&told, &PolicyChanges::default());
    assert_eq!(calls[0].under.standing, Standing::Ended(Outcome::Returned));
    assert!(!calls[0].is_changed(), "{calls:?}");
}
