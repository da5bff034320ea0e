#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::json;

use crate::session::*;
use crate::testing::{History, Toolbox, called_by, given, history, toolbox};

fn tools() -> Toolbox {
    toolbox()
        .agent("clerk", ["look", "pay", "ship"])
        .plain("look")
        .inner("look")
        .gated("pay")
        .long_running("ship")
        .plain("secret")
}

fn attached(tools: &Toolbox) -> History {
    history().opened("support").attached(tools).connected()
}

fn called() -> History {
    attached(&tools()).call("c1", "clerk", json!({"request": "go"}))
}

fn clerk(told: &History) -> &Call {
    let mut calls = told.session().calls.values();
    calls.find(|it| it.name == "clerk").unwrap()
}

fn clerk_seq(told: &History) -> Seq {
    let mut calls = told.session().calls.iter();
    *calls.find(|(_, it)| it.name == "clerk").unwrap().0
}

fn settled(told: &History, call: Seq) -> Outcome {
    told.session().settled[&call].outcome
}

fn runs(told: &History) -> Vec<(Seq, u32)> {
    let effects = owed(told.session()).into_iter();
    let run = |effect| {
        if let Effect::RunTool { call, attempt, .. } = effect {
            return Some((call, attempt));
        }
        None
    };
    effects.filter_map(run).collect()
}

#[test]
fn a_run_waits_for_its_calls_and_owes_nothing_meanwhile() {
    let waits = called().asks_model().model_calls(&["look", "pay"]);
    let (look, parent) = (Seq(waits.call_seq().0 - 4), clerk_seq(&waits));
    assert_eq!(clerk(&waits).phase.name(), "awaiting_calls");
    assert_eq!(runs(&waits), [(look, 1)]);
    // One has ended, a person decides about the other.
    let asked = waits.clone().at_call(look).returned(json!({"found": 1}));
    assert_eq!(runs(&asked), []);
    assert!(asked.session().should_pause());
    assert_eq!(asked.session().long_running_tool_ids().len(), 1);
    let denied = asked.at_call(waits.call_seq()).denied("ada", None);
    assert_eq!(runs(&denied), [(parent, 2)]);
    let turn = &clerk(&denied).agent.as_ref().unwrap().turns[0];
    assert!(turn.calls.iter().all(|it| it.ended.is_some()));
    let done = denied.at_call(parent).asks_model().model_done();
    assert_eq!(settled(&done, parent), Outcome::Returned);
}

#[test]
fn what_an_agent_called_goes_to_the_agent_and_to_no_model() {
    let waits = called().asks_model().model_calls(&["look", "nothing"]);
    let told = waits.facts().iter().filter_map(|fact| {
        if let Event::Decided(Decision::ResponseIssued(it)) = &fact.event {
            return Some((it.outcome, it.route));
        }
        None
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [(Outcome::Refused, Route::Parent)]
    );
    let look = Seq(clerk(&waits).awaited().next().unwrap().0);
    let found = waits.at_call(look).returned(json!({}));
    assert!(found.session().deliveries.is_empty());
}

#[test]
fn an_agent_may_call_the_tools_that_it_names_and_a_model_those_that_are_not_inner() {
    let refused = called().asks_model().model_calls(&["secret"]);
    assert_eq!(settled(&refused, refused.call_seq()), Outcome::Refused);
    let by_model = attached(&tools()).call("c1", "look", json!({}));
    assert_eq!(settled(&by_model, by_model.call_seq()), Outcome::Refused);
    let by_program = attached(&tools()).program_call("look", json!({})).started();
    assert_eq!(by_program.current().phase.name(), "running");
}

#[test]
fn a_run_that_was_cut_off_goes_on_by_its_leave_and_its_calls_by_their_rules() {
    let asking = called().asks_model();
    let parent = clerk_seq(&asking);
    let cut_off = asking.detached();
    assert_eq!(clerk(&cut_off).phase.name(), "awaiting_calls");
    let again = cut_off.attached(&tools());
    assert_eq!(runs(&again), [(parent, 2)]);
    assert_eq!(again.session().settled.len(), 0);
    // The reply to the question of the old process counts no more; that to a new one does.
    let stale = LlmReplied {
        attempt: 1,
        ..again.clone().at_call(parent).llm_replied(1)
    };
    let stale = again
        .clone()
        .observed(stale)
        .observed(called_by(parent, "look"));
    assert_eq!(settled(&stale, stale.call_seq()), Outcome::Withdrawn);
    assert_eq!(runs(&stale), [(parent, 2)]);
    let looks = again.at_call(parent).asks_model().model_calls(&["look"]);
    let look = looks.call_seq();
    let dead = looks.detached();
    assert_eq!(settled(&dead, look), Outcome::Unknown);
    assert_eq!(runs(&dead.attached(&tools())), [(parent, 3)]);
}

#[test]
fn a_reply_without_a_question_on_record_counts_nothing() {
    let running = called();
    let replied = running.llm_replied(1);
    let same = running.clone().observed(replied);
    assert_eq!(same.current().phase, running.current().phase);
}

#[test]
fn a_run_that_waits_takes_no_place_and_goes_on_when_one_is_free() {
    let tools = tools().running_max(1);
    let waits = attached(&tools)
        .call("c1", "clerk", json!({}))
        .asks_model()
        .model_calls(&["look"]);
    let look = waits.call_seq();
    assert_eq!(runs(&waits), [(look, 1)]);
    let other = waits.call("c2", "secret", json!({}));
    let back = other.at_call(look).returned(json!({}));
    assert_eq!(runs(&back).len(), 1);
    assert_ne!(runs(&back)[0].0, look);
}

#[test]
fn the_calls_of_a_run_end_with_it() {
    let waits = called().asks_model().model_calls(&["look", "pay", "ship"]);
    let parent = clerk_seq(&waits);
    let (pay, ship) = (Seq(waits.call_seq().0 - 3), waits.call_seq());
    let waits = waits.paused(None);
    for ended in [
        waits.clone().at_call(parent).cancelled(),
        waits.clone().taken_back("c1"),
        waits.clone().closed(),
    ] {
        assert!(ended.session().calls.is_empty());
        assert_eq!(
            owed(ended.session())
                .iter()
                .filter(|it| !matches!(it, Effect::SendResponse { .. }))
                .count(),
            0
        );
        for call in [pay, ship] {
            assert_eq!(settled(&ended, call), Outcome::Withdrawn);
        }
    }
    // One that comes too late ends at once.
    let late = waits
        .at_call(parent)
        .cancelled()
        .observed(called_by(parent, "look"));
    assert_eq!(settled(&late, late.call_seq()), Outcome::Withdrawn);
}

#[test]
fn more_calls_than_the_reply_made_end_at_once() {
    let waits = called().asks_model().model_calls(&["pay"]);
    let parent = clerk_seq(&waits);
    let more = waits.clone().observed(called_by(parent, "look"));
    assert_eq!(settled(&more, more.call_seq()), Outcome::Withdrawn);
    assert_eq!(clerk(&more).phase, clerk(&waits).phase);
}

#[test]
fn a_time_limit_rests_while_calls_are_open() {
    let tools = tools().timeout_ms("clerk", 1_000);
    let asking = attached(&tools).call("c1", "clerk", json!({})).asks_model();
    let waits = asking.later(400).model_calls(&["look"]);
    let (parent, look) = (clerk_seq(&waits), waits.call_seq());
    let back = waits.later(50_000).at_call(look).returned(json!({}));
    let now = back.now();
    let due = |told: &History| {
        if let Phase::Running { deadline, .. } = clerk(told).phase {
            return deadline;
        }
        None
    };
    assert_eq!(due(&back), Some(now.after_ms(600)));
    let again = back
        .clone()
        .later(100)
        .detached()
        .later(9_000)
        .attached(&tools);
    assert_eq!(due(&again), Some(again.now().after_ms(500)));
    let over = back.at_call(parent).timed_out();
    assert_eq!(settled(&over, parent), Outcome::TimedOut);
}

#[test]
fn a_model_that_cannot_be_reached_is_asked_again_and_then_no_more() {
    let mut told = called().asks_model();
    let parent = clerk_seq(&told);
    for wait in [500, 1_000, 2_000] {
        told = told.failed_as("llm_unavailable");
        let Phase::Retrying { due, .. } = told.current().phase else {
            unreachable!("{:?}", told.current().phase);
        };
        assert_eq!(due, told.now().after_ms(wait));
        told = told.timed_out().asks_model();
    }
    let given_up = told.clone().failed_as("llm_unavailable");
    assert_eq!(settled(&given_up, parent), Outcome::Failed);
    // A reply begins the count anew; another failure is final at once.
    let replied = told.model_calls(&["nothing"]).at_call(parent).asks_model();
    let replied = replied.failed_as("llm_unavailable");
    assert_eq!(replied.current().phase.name(), "retrying");
    let failed = called().asks_model().failed_as("execution_failed");
    assert_eq!(settled(&failed, failed.call_seq()), Outcome::Failed);
}

#[test]
fn an_agent_that_was_declared_anew_is_asked_about_like_any_gated_tool() {
    let gated = tools().policy("clerk", |policy| policy.confirm = true);
    let granted = attached(&gated)
        .call("c1", "clerk", json!({}))
        .granted("ada")
        .asks_model()
        .detached();
    let same = granted.clone().attached(&gated);
    assert_eq!(same.current().phase.name(), "running");
    let more = gated.agent("clerk", ["look", "pay", "ship", "secret"]);
    let changed = granted.attached(&more);
    assert_eq!(changed.current().phase.name(), "awaiting_confirmation");
    let on = changed.granted("ada");
    assert_eq!(on.current().phase.name(), "running");
}

#[test]
fn an_agent_called_by_an_agent_is_a_call_as_any_other() {
    let tools = tools().agent("boss", ["clerk"]);
    let inner = attached(&tools)
        .call("c1", "boss", json!({}))
        .asks_model()
        .model_calls(&["clerk"])
        .asks_model()
        .model_calls(&["pay"]);
    let pay = inner.call_seq();
    let cancelled = inner.taken_back("c1");
    assert_eq!(settled(&cancelled, pay), Outcome::Withdrawn);
    assert!(cancelled.session().calls.is_empty());
    assert_eq!(owed(cancelled.session()), []);
}

#[test]
fn a_phases_own_list_is_for_the_model_of_the_conversation() {
    let only_clerk = PhaseDeclaration {
        name: "one".to_owned(),
        instruction: None,
        tools: Some(["clerk".to_owned()].into()),
        transitions: Vec::new(),
    };
    let tools = tools().phases([only_clerk]);
    let looks = attached(&tools)
        .call("c1", "clerk", json!({}))
        .asks_model()
        .model_calls(&["look"]);
    assert_eq!(looks.current().phase.name(), "running");
}

#[test]
fn a_reply_and_its_calls_are_decided_one_by_one() {
    let asking = called().asks_model();
    let (parent, replied) = (asking.call_seq(), asking.llm_replied(1));
    given(&asking).when(replied.clone()).then_kinds([]);
    let waits = asking.observed(replied);
    given(&waits).when(called_by(parent, "look")).then_kinds([
        "policy_decided",
        "call_ready",
        "call_started",
    ]);
}
