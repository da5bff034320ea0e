#![expect(
    clippy::indexing_slicing,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::{Value, json};

use crate::testing::{History, Toolbox, given, history, toolbox};
use crate::*;

fn tools() -> Toolbox {
    toolbox().plain("look").cached("look")
}

fn with(tools: &Toolbox) -> History {
    history().opened("support").attached(tools).connected()
}

/// A history in which `look` was called with `args` and returned.
fn looked(tools: &Toolbox, args: &str) -> History {
    called(with(tools), "c1", args)
        .started()
        .returned(json!({"found": 1}))
}

/// The arguments are passed as text, because a number must not pass through a float.
fn called(history: History, id: &str, args: &str) -> History {
    let call = FunctionCallReceived {
        epoch: history.epoch(),
        id: Some(id.to_owned()),
        name: Some("look".to_owned()),
        args: Json::parse(args).ok(),
        malformed_args: None,
        invalid_args: None,
        sealed_args: Vec::new(),
        original_args: None,
        by: None,
        parent: None,
        beyond_max: None,
        key: None,
    };
    history.observed(call)
}

/// The `tool_returned` records, in order.
fn results(history: &History) -> Vec<Seq> {
    let facts = history.facts().iter();
    let returned = facts.filter(|fact| fact.event.kind() == "tool_returned");
    returned.map(|fact| fact.seq).collect()
}

fn count(history: &History, kind: &str) -> usize {
    history.kinds().iter().filter(|it| **it == kind).count()
}

fn runs(history: &History) -> usize {
    count(history, "call_started")
}

fn settled(history: &History) -> Outcome {
    history.session().settled[&history.call_seq()].outcome
}

const REUSED: [&str; 4] = [
    "policy_decided",
    "call_ready",
    "result_reused",
    "response_issued",
];
const RUNS: [&str; 3] = ["policy_decided", "call_ready", "call_started"];

/// The effect of a further call with these arguments.
fn leads_to(history: &History, args: &str) -> Vec<&'static str> {
    let before = history.facts().len();
    let after = called(history.clone(), "again", args);
    after.kinds().split_off(before + 1)
}

#[test]
fn an_equal_call_gets_the_earlier_result_and_nothing_runs() {
    let looked = looked(&tools(), r#"{"a":1}"#);
    let of = results(&looked)[0];
    let again = called(looked, "c2", r#"{"a":1}"#);
    let call = again.call_seq();
    let decided: Vec<&Event> = again
        .facts()
        .iter()
        .rev()
        .take(4)
        .map(|it| &it.event)
        .collect();
    assert_eq!(
        decided[3],
        &Event::Decided(
            PolicyDecided {
                call,
                verdict: Verdict::Allowed,
                rule: Rule::Cached,
                reason: None,
                policies: again.session().terms.policies_hash,
                inputs: Json::parse(&format!("{{\"of\":{of}}}")).ok(),
            }
            .into()
        )
    );
    assert_eq!(
        decided[1],
        &Event::Decided(ResultReused { call, of }.into())
    );
    let told = again.told();
    assert_eq!((told.len(), told[0].outcome), (1, Outcome::Returned));
    assert_eq!((runs(&again), settled(&again)), (1, Outcome::Returned));
}

#[test]
fn the_order_of_keys_does_not_matter() {
    let looked = looked(&tools(), r#"{"a":1,"b":{"c":2,"d":"é"}}"#);
    let same = r#"{"b":{"d":"\u00e9","c":2},"a":1}"#;
    assert_eq!(leads_to(&looked, same), REUSED);
}

#[test]
fn other_arguments_run_also_where_only_a_float_could_not_tell() {
    for (args, other) in [
        (r#"{"a":1}"#, r#"{"a":2}"#),
        (r#"{"a":1}"#, r#"{"a":1.0}"#),
        (r#"{"a":1}"#, r#"{"a":"1"}"#),
        (r#"{"a":9007199254740992}"#, r#"{"a":9007199254740993}"#),
        (r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#),
        (r#"{"a":null}"#, "{}"),
    ] {
        let looked = looked(&tools(), args);
        assert_eq!(leads_to(&looked, other), RUNS, "{args} and {other}");
        assert_eq!(leads_to(&looked, args), REUSED, "{args}");
    }
}

#[test]
fn another_tool_with_the_same_arguments_runs() {
    let tools = tools().plain("find").cached("find");
    let looked = looked(&tools, "{}");
    let found = looked.call("c2", "find", json!({})).started();
    assert_eq!(found.attempt(), 1);
}

#[test]
fn failure_is_never_reused() {
    let failed = called(with(&tools()), "c1", "{}").failed(json!({"error": "no"}));
    assert_eq!(leads_to(&failed, "{}"), RUNS);
}

#[test]
fn without_the_policy_every_call_runs() {
    assert_eq!(
        leads_to(&looked(&toolbox().plain("look"), "{}"), "{}"),
        RUNS
    );
    let stopped = looked(&tools(), "{}").attached(&toolbox().plain("look"));
    assert_eq!(leads_to(&stopped, "{}"), RUNS);
}

#[test]
fn one_of_ten_equal_calls_runs_and_all_are_answered() {
    let mut calls = with(&tools());
    for n in 0..10 {
        calls = called(calls, &format!("c{n}"), r#"{"a":1}"#);
    }
    assert_eq!((runs(&calls), calls.session().running()), (1, 1));
    let done = calls.about("c0").returned(json!({"found": 1}));
    assert!(done.session().calls.is_empty());
    assert_eq!((runs(&done), count(&done, "result_reused")), (1, 9));
    let told = done.session().deliveries.values();
    assert_eq!(
        told.filter(|it| it.outcome == Outcome::Returned).count(),
        10
    );
}

#[test]
fn result_is_reused_until_its_maximum_age() {
    let looked = looked(&tools().cached_for_ms("look", 60_000), "{}");
    assert_eq!(leads_to(&looked.clone().later(60_000), "{}"), REUSED);
    let old = looked.later(60_001);
    assert_eq!(leads_to(&old, "{}"), RUNS);
    // Another run renews the age of a result, and a reuse does not.
    let again = called(old, "c2", "{}").started().returned(json!({}));
    assert_eq!(leads_to(&again.clone().later(60_000), "{}"), REUSED);
    assert_eq!(leads_to(&again.later(60_001), "{}"), RUNS);
}

#[test]
fn a_tool_of_another_contract_gives_its_own_result() {
    let looked = looked(&tools(), "{}");
    let changed = looked.clone().attached(&tools().changed("look"));
    assert_eq!(leads_to(&changed, "{}"), RUNS);
    let reworded = looked.clone().attached(&tools().reworded("look"));
    assert_eq!(leads_to(&reworded, "{}"), REUSED);
    let back = changed.attached(&tools());
    assert_eq!(leads_to(&back, "{}"), REUSED);
}

#[test]
fn gated_call_with_cached_result_needs_no_approval() {
    let tools = toolbox().gated("look").cached("look");
    let looked = called(with(&tools), "c1", "{}")
        .granted("ada")
        .returned(json!({}));
    assert_eq!(leads_to(&looked, "{}"), REUSED);
    assert_eq!(
        leads_to(&looked, r#"{"a":1}"#),
        ["policy_decided", "confirmation_requested"]
    );
}

#[test]
fn restart_keeps_cached_results() {
    let looked = looked(&tools(), "{}")
        .detached()
        .attached(&tools())
        .disconnected()
        .connected();
    assert_eq!(leads_to(&looked, "{}"), REUSED);
    let library = looked.session().library().clone();
    let new = Session::with_library(looked.session().id, library);
    let folded = looked.facts().iter().fold(new, evolve);
    assert_eq!(&folded, looked.session());
}

#[test]
fn cached_result_needs_no_runner() {
    assert_eq!(leads_to(&looked(&tools(), "{}").detached(), "{}"), REUSED);
}

/// Two equal calls: the first runs and the second waits for it.
fn two(tools: &Toolbox) -> History {
    let first = called(with(tools), "c1", "{}").started();
    let both = called(first, "c2", "{}");
    assert_eq!(both.session().running(), 1);
    both.about("c1")
}

/// Asserts that the second call was started.
fn second_runs(history: History) {
    let second = history.about("c2").started();
    assert_eq!(second.attempt(), 1);
    assert_eq!(settled(&second.returned(json!({}))), Outcome::Returned);
}

#[test]
fn waiting_call_runs_if_the_first_has_no_result() {
    second_runs(two(&tools()).failed(json!({"error": "no"})));
    second_runs(two(&tools()).cancelled());
    second_runs(two(&tools()).taken_back("c1"));
    second_runs(two(&tools().timeout_ms("look", 5)).timed_out());
    // The call in doubt is settled as unknown.
    second_runs(two(&tools()).attached(&tools()));
}

#[test]
fn waiting_call_runs_if_the_first_needs_a_person() {
    let tools = tools().in_doubt("look", InDoubt::Ask);
    let asked = two(&tools).attached(&tools).asked();
    second_runs(asked.clone());
    // The call that a person was asked about takes the result of the call that ran meanwhile.
    let done = asked
        .about("c2")
        .returned(json!({}))
        .about("c1")
        .granted("ada");
    assert_eq!((settled(&done), runs(&done)), (Outcome::Returned, 2));
    let denied = two(&tools).attached(&tools).denied("ada", None);
    second_runs(denied);
}

#[test]
fn equal_call_does_not_wait_for_paused_call() {
    let tools = toolbox().long_running("look").cached("look");
    second_runs(two(&tools).paused(None));
}

#[test]
fn call_cut_off_runs_again_and_serves_both() {
    let tools = tools().in_doubt("look", InDoubt::Retry);
    let again = two(&tools).detached();
    assert_eq!(again.session().running(), 0);
    let again = again.attached(&tools).started();
    assert_eq!((again.attempt(), again.session().running()), (2, 1));
    let done = again.returned(json!({}));
    assert!(done.session().calls.is_empty());
    assert_eq!(count(&done, "result_reused"), 1);
}

#[test]
fn equal_calls_wait_while_the_first_is_retried() {
    let tools = tools().retried("look", 2, 100);
    let retrying = two(&tools).failed(json!({"error": "busy"}));
    assert_eq!(retrying.session().running(), 0);
    let done = retrying.timed_out().returned(json!({}));
    assert!(done.session().calls.is_empty());
    assert_eq!((runs(&done), count(&done, "result_reused")), (2, 1));
}

#[test]
fn parallel_runs_become_sequential_under_cache_policy() {
    let cached = tools().in_doubt("look", InDoubt::Retry);
    let free = toolbox().plain("look").in_doubt("look", InDoubt::Retry);
    let both = two(&cached).attached(&free);
    assert_eq!(both.session().running(), 2);
    let one = both.attached(&cached);
    assert_eq!(one.session().running(), 1);
    let leader = if one.clone().about("c1").current().phase.is_running() {
        "c1"
    } else {
        "c2"
    };
    let done = one.about(leader).returned(json!({}));
    assert!(done.session().calls.is_empty());
}

#[test]
fn reused_result_keeps_its_own_scheduling() {
    let looked = called(with(&tools()), "c1", "{}");
    let returned = ToolReturned {
        scheduling: Some(FunctionResponseScheduling::Interrupt),
        ..looked.tool_returned(false, &Value::Null)
    };
    let again = called(looked.observed(returned), "c2", "{}");
    let scheduling = again.told()[0].scheduling;
    assert_eq!(scheduling, Some(FunctionResponseScheduling::Interrupt));
    let tools = tools().background("look", FunctionResponseScheduling::Silent);
    let again = called(looked_in_background(&tools), "c2", "{}");
    let scheduling = again.told()[0].scheduling;
    assert_eq!(scheduling, Some(FunctionResponseScheduling::Silent));
}

fn looked_in_background(tools: &Toolbox) -> History {
    looked(tools, "{}")
}

#[test]
fn equal_call_to_undeclared_tool_is_refused() {
    let gone = looked(&tools(), "{}").attached(&tools().without("look"));
    assert_eq!(leads_to(&gone, "{}"), ["policy_decided", "response_issued"]);
}

#[test]
fn a_call_with_a_flaw_is_refused_although_an_equal_one_returned() {
    let looked = looked(&tools(), "{}");
    let flawed = FunctionCallReceived {
        epoch: looked.epoch(),
        id: Some("c2".to_owned()),
        name: Some("look".to_owned()),
        args: Some(Json::empty_object()),
        malformed_args: None,
        invalid_args: Some("\"a\" is missing".to_owned()),
        sealed_args: Vec::new(),
        original_args: None,
        by: None,
        parent: None,
        beyond_max: None,
        key: None,
    };
    given(&looked)
        .when(flawed)
        .then_kinds(["policy_decided", "response_issued"]);
}

#[test]
fn waiting_call_is_not_restless_until_the_first_ends() {
    let many = |n: usize| (1..=n).fold(with(&tools()), |it, n| called(it, &format!("c{n}"), "{}"));
    let rests = |history: &History| history.session().restless.is_empty();
    let none_waits = |history: &History| history.session().cache.waiting.is_empty();
    let waiting = many(5);
    assert!(rests(&waiting) && runs(&waiting) == 1);
    let returned = waiting.about("c1").started().returned(json!({"found": 1}));
    assert_eq!(count(&returned, "result_reused"), 4);
    assert!(rests(&returned) && none_waits(&returned));
    let failed = many(5).about("c1").started().failed(json!({"error": "no"}));
    assert!(rests(&failed) && runs(&failed) == 2);
    let taken_back = many(5).taken_back("c3");
    assert!(rests(&taken_back) && runs(&taken_back) == 1);
    let closed = many(5).closed();
    assert!(rests(&closed) && none_waits(&closed));
}

#[test]
fn result_from_before_cache_policy_is_not_reused() {
    let plain = toolbox().plain("look");
    let before = looked(&plain, "{}").attached(&tools());
    let again = called(before, "c2", "{}").started();
    assert_eq!(count(&again, "result_reused"), 0);
    let third = called(again.returned(json!({"found": 2})), "c3", "{}");
    assert_eq!(count(&third, "result_reused"), 1);
}

/// The slot that its agent's other call gives back lets the equal call start in the same batch.
#[test]
fn cancelled_call_waits_for_no_equal_one() {
    let tools = tools().retried("look", 2, 3).plain("ship");
    let tools = tools.agent("clerk", ["look", "ship"]).running_max(2);
    let looks = with(&tools).call("c1", "look", json!({})).started();
    let waits = looks.failed(json!({"error": "busy"}));
    let clerk = waits.call("c2", "clerk", json!({})).asks_model();
    let clerk = clerk.model_calls(&["ship", "look"]);
    let full = clerk.call("c3", "ship", json!({})).started();
    let due = full.about("c1").timed_out();
    assert!(matches!(due.current().phase, Phase::InDoubt { .. }));
    let cancelled = due.about("c2").cancelled();
    let open: Vec<&str> = cancelled
        .session()
        .calls
        .values()
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(open, ["look", "ship"]);
    let _ = cancelled.about("c1").started();
}
