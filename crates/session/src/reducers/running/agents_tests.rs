#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::json;

use crate::testing::{History, Toolbox, called_by, given, history, toolbox};
use crate::*;

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

fn clerk(history: &History) -> &Call {
    let mut calls = history.session().calls.values();
    calls.find(|it| it.name == "clerk").unwrap()
}

fn clerk_seq(history: &History) -> Seq {
    let mut calls = history.session().calls.iter();
    *calls.find(|(_, it)| it.name == "clerk").unwrap().0
}

fn settled(history: &History, call: Seq) -> Outcome {
    history.session().settled[&call].outcome
}

fn runs(history: &History) -> Vec<(Seq, u32)> {
    let effects = owed(history.session()).into_iter();
    let run = |effect| {
        if let Effect::RunTool { call, attempt, .. } = effect {
            return Some((call, attempt));
        }
        None
    };
    effects.filter_map(run).collect()
}

#[test]
fn agent_waiting_for_its_calls_owes_nothing() {
    let waits = called().asks_model().model_calls(&["look", "pay"]);
    let (look, parent) = (Seq(waits.call_seq().0 - 4), clerk_seq(&waits));
    assert_eq!(clerk(&waits).phase.name(), "awaiting_calls");
    assert_eq!(runs(&waits), [(look, 1)]);
    // One call has ended, and a person decides about the other.
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
fn agents_call_answers_the_agent_and_not_the_model() {
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
fn agent_may_call_named_tools_and_model_no_inner_ones() {
    let refused = called().asks_model().model_calls(&["secret"]);
    assert_eq!(settled(&refused, refused.call_seq()), Outcome::Refused);
    let by_model = attached(&tools()).call("c1", "look", json!({}));
    assert_eq!(settled(&by_model, by_model.call_seq()), Outcome::Refused);
    let by_program = attached(&tools()).program_call("look", json!({})).started();
    assert_eq!(by_program.current().phase.name(), "running");
}

#[test]
fn agent_cut_off_continues_under_its_permission() {
    let asking = called().asks_model();
    let parent = clerk_seq(&asking);
    let cut_off = asking.detached();
    assert_eq!(clerk(&cut_off).phase.name(), "awaiting_calls");
    let again = cut_off.attached(&tools());
    assert_eq!(runs(&again), [(parent, 2)]);
    assert_eq!(again.session().settled.len(), 0);
    // A reply to the old process's question does not count any more. A reply to a new one does.
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
fn reply_without_recorded_question_does_not_count() {
    let running = called();
    let replied = running.llm_replied(1);
    let same = running.clone().observed(replied);
    assert_eq!(same.current().phase, running.current().phase);
}

#[test]
fn waiting_agent_holds_no_slot_and_continues_in_a_free_one() {
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
fn calls_of_an_agent_end_with_it() {
    let waits = called().asks_model().model_calls(&["look", "pay", "ship"]);
    let parent = clerk_seq(&waits);
    let (pay, ship) = (Seq(waits.call_seq().0 - 3), waits.call_seq());
    let waits = waits.paused(None);
    for ended in [
        waits.clone().at_call(parent).cancelled(),
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
    // A call that arrives after the agent has ended is cancelled at once.
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
fn time_limit_pauses_while_calls_are_open() {
    let tools = tools().timeout_ms("clerk", 1_000);
    let asking = attached(&tools).call("c1", "clerk", json!({})).asks_model();
    let waits = asking.later(400).model_calls(&["look"]);
    let (parent, look) = (clerk_seq(&waits), waits.call_seq());
    let back = waits.later(50_000).at_call(look).returned(json!({}));
    let now = back.now();
    let due = |history: &History| {
        if let Phase::Running { deadline, .. } = clerk(history).phase {
            return deadline;
        }
        None
    };
    assert_eq!(due(&back), Some(now.after_ms(600)));
    // A turn that was cut off does not count, and neither does the time without a process.
    for gone in [
        back.clone().later(100).detached(),
        back.clone()
            .at_call(parent)
            .later(100)
            .detached_before_it_began(),
    ] {
        let again = gone.later(9_000).attached(&tools);
        assert_eq!(due(&again), Some(again.now().after_ms(600)));
    }
    let killed = back.clone().later(9_000).attached(&tools);
    assert_eq!(due(&killed), Some(killed.now().after_ms(600)));
    let over = back.at_call(parent).timed_out();
    assert_eq!(settled(&over, parent), Outcome::TimedOut);
}

#[test]
fn unreachable_model_is_retried_up_to_a_limit() {
    let mut failing = called().asks_model();
    let parent = clerk_seq(&failing);
    for wait in [500, 1_000, 2_000] {
        failing = failing.failed_as("llm_unavailable");
        let Phase::Retrying { due, .. } = failing.current().phase else {
            unreachable!("{:?}", failing.current().phase);
        };
        assert_eq!(due, failing.now().after_ms(wait));
        failing = failing.timed_out().asks_model();
    }
    let given_up = failing.clone().failed_as("llm_unavailable");
    assert_eq!(settled(&given_up, parent), Outcome::Failed);
    // A reply resets the number of failures. A failure of another kind is final at once.
    let replied = failing
        .model_calls(&["nothing"])
        .at_call(parent)
        .asks_model();
    let replied = replied.failed_as("llm_unavailable");
    assert_eq!(replied.current().phase.name(), "retrying");
    let failed = called().asks_model().failed_as("execution_failed");
    assert_eq!(settled(&failed, failed.call_seq()), Outcome::Failed);
}

#[test]
fn changed_agent_contract_reopens_the_request() {
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
fn nested_agent_is_a_call_like_any_other() {
    let tools = tools().agent("boss", ["clerk"]);
    let inner = attached(&tools)
        .call("c1", "boss", json!({}))
        .asks_model()
        .model_calls(&["clerk"])
        .asks_model()
        .model_calls(&["pay"]);
    let pay = inner.call_seq();
    let boss = *inner.session().calls.keys().next().unwrap();
    let cancelled = inner.at_call(boss).cancelled();
    assert_eq!(settled(&cancelled, pay), Outcome::Withdrawn);
    assert!(cancelled.session().calls.is_empty());
    let replies = owed(cancelled.session()).into_iter();
    assert_eq!(
        replies
            .filter(|it| !matches!(it, Effect::SendResponse { .. }))
            .count(),
        0
    );
}

#[test]
fn request_below_cancelled_agent_stays_open() {
    let tools = tools().agent("boss", ["clerk"]);
    let asks = |tools: &Toolbox, calls: &[&str]| {
        attached(tools)
            .call("c1", "boss", json!({}))
            .asks_model()
            .model_calls(&["clerk"])
            .asks_model()
            .model_calls(calls)
    };
    let lost = |history: &History| {
        let lost = history.session().calls.iter();
        let lost = lost.filter(|(_, call)| call.model_lost_interest);
        lost.map(|(_, call)| call.name.clone()).collect::<Vec<_>>()
    };
    let taken_back = asks(&tools, &["look", "pay"]).taken_back("c1");
    assert_eq!(taken_back.session().calls.len(), 4);
    // The approver sees that the model lost interest.
    assert_eq!(lost(&taken_back), ["boss", "pay"]);
    let ship = asks(&tools, &["ship"]).paused(None).taken_back("c1");
    assert_eq!(lost(&ship), ["boss", "ship"]);
    // The final result is sent as conversation, like that of any cancelled call.
    let paid = asks(&tools, &["pay"]).taken_back("c1").granted("ada");
    let paid = paid.returned(json!({"paid": true}));
    let seq = |name: &str| {
        let mut calls = paid.session().calls.iter();
        *calls.find(|(_, it)| it.name == name).unwrap().0
    };
    let (boss, clerk) = (seq("boss"), seq("clerk"));
    let done = paid.at_call(clerk).asks_model().model_done();
    let done = done.at_call(boss).asks_model().model_done();
    assert_eq!(settled(&done, boss), Outcome::Returned);
    let told = done.session().deliveries.values();
    let routes: Vec<Route> = told.map(|it| it.route).collect();
    let epoch = done.epoch();
    assert_eq!(routes, [Route::Conversation { epoch }]);

    // The call ends if it waits for nothing outside, or if the tool lets its request be withdrawn.
    let runs = asks(&tools, &["look"]).taken_back("c1");
    assert!(runs.session().calls.is_empty());
    let careful = tools.clone().withdraw_on_cancel("pay");
    let withdrawn = asks(&careful, &["look", "pay"]).taken_back("c1");
    assert!(withdrawn.session().calls.is_empty());
    assert_eq!(owed(withdrawn.session()), []);
    let both = asks(
        &careful.gated("secret").agent("clerk", ["pay", "secret"]),
        &["pay", "secret"],
    );
    assert_eq!(both.taken_back("c1").session().calls.len(), 4);
}

#[test]
fn equal_calls_do_not_wait_for_a_cached_agent_that_waits_itself() {
    let tools = tools().cached("clerk");
    let asking = attached(&tools).call("c1", "clerk", json!({})).asks_model();
    let first = asking.call_seq();
    let second = asking.call("c2", "clerk", json!({}));
    let equal = second.call_seq();
    assert_eq!(second.current().phase.name(), "ready");
    let waits = second.at_call(first).model_calls(&["pay"]);
    let phase = |history: &History| history.session().calls.get(&equal).unwrap().phase.name();
    assert_eq!(phase(&waits), "running");
    // The result of the run that ends first is reused by the next call.
    let done = waits.at_call(equal).asks_model().model_done();
    let third = done.call("c3", "clerk", json!({}));
    let (of, outcome) = (third.kinds(), settled(&third, third.call_seq()));
    assert_eq!(outcome, Outcome::Returned);
    assert!(of.ends_with(&["result_reused", "response_issued"]));
}

#[test]
fn agent_gets_stream_results_of_the_last_run() {
    let tools = tools().agent("clerk", ["count"]).streaming("count");
    let tools = tools.in_doubt("count", InDoubt::Retry);
    let counts = attached(&tools)
        .call("c1", "clerk", json!({}))
        .asks_model()
        .model_calls(&["count"]);
    let gave = |history: &History| {
        let run = clerk(history).agent.as_ref().unwrap();
        run.turns[0].calls[0].gave.clone()
    };
    let first = counts.yielded(json!(1));
    assert_eq!(gave(&first).len(), 1);
    let again = first.clone().detached().attached(&tools);
    assert_eq!(gave(&again), []);
    let two = again.yielded(json!(1)).yielded(json!(2));
    let told: Vec<Seq> = two
        .facts()
        .iter()
        .filter(|it| it.event.kind() == "tool_yielded")
        .map(|it| it.seq)
        .collect();
    assert_eq!(gave(&two), told[1..]);
    // A result of an older run does not count.
    let stale = ToolYielded {
        attempt: 1,
        ..two.tool_yielded(&json!(3))
    };
    assert_eq!(gave(&two.clone().observed(stale)), told[1..]);
}

#[test]
fn unanswered_question_is_known_until_the_reply() {
    let unanswered = |history: &History| clerk(history).agent.as_ref().unwrap().unanswered;
    let asking = called();
    assert_eq!(unanswered(&asking), None);
    let asking = asking.asks_model();
    let asked = asking.session().head;
    assert_eq!(unanswered(&asking), Some(asked));
    let again = asking.detached().attached(&tools());
    assert_eq!(unanswered(&again), Some(asked));
    let replied = again.asks_model().model_calls(&["pay"]);
    assert_eq!(unanswered(&replied), None);
}

#[test]
fn a_hook_sees_no_call_that_its_agent_may_not_make() {
    let hooks = Hooks {
        on_tool_call: true,
        before_tool_response: false,
    };
    let shown = attached(&tools().hooks(hooks)).call("c1", "clerk", json!({}));
    let none = HookAnswered {
        hook: Hook::OnToolCall,
        call: shown.call_seq(),
        of: None,
        by: None,
        response: None,
        failure: None,
        gated: None,
    };
    let asking = shown.observed(none).asks_model();
    let looks = asking.clone().model_calls(&["look"]);
    assert_eq!(looks.current().phase, Phase::AwaitingHook);
    for name in ["secret", "nothing"] {
        let refused = asking.clone().model_calls(&[name]);
        assert_eq!(settled(&refused, refused.call_seq()), Outcome::Refused);
    }
    // The hook does not see a conversation model's call to a tool that only agents may call. It
    // sees calls to undeclared tools, because the program may know them.
    let inner = asking.clone().call("c2", "look", json!({}));
    assert_eq!(settled(&inner, inner.call_seq()), Outcome::Refused);
    let unknown = asking.call("c2", "nothing", json!({}));
    assert_eq!(unknown.current().phase, Phase::AwaitingHook);
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
