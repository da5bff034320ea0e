#![expect(
    clippy::indexing_slicing,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::json;

use crate::testing::{History, Toolbox, given, history, toolbox};
use crate::*;

fn tools() -> Toolbox {
    toolbox()
        .plain("look")
        .timeout_ms("look", 1_000)
        .plain("retry")
        .in_doubt("retry", InDoubt::Retry)
        .plain("ask")
        .in_doubt("ask", InDoubt::Ask)
        .gated("pay")
        .in_doubt("pay", InDoubt::Retry)
        .long_running("order")
}

fn support() -> History {
    history().opened("support").attached(&tools()).connected()
}

fn running(name: &str) -> History {
    support().call("c1", name, json!({"n": 1})).started()
}

fn settled(history: &History) -> Outcome {
    history.session().settled[&history.call_seq()].outcome
}

fn taken_back(history: &History, id: &str) -> CallCancellationReceived {
    let (epoch, ids) = (history.epoch(), vec![id.to_owned()]);
    CallCancellationReceived { epoch, ids }
}

#[test]
fn a_run_has_its_own_time_limit_from_its_start() {
    let look = running("look");
    let (call, attempt, runner) = (look.call_seq(), 1, Seq(2));
    let deadline = Deadline::Run { call, attempt };
    let due_us = look.now().after_ms(1_000);
    let expected = [
        Effect::RunTool {
            call,
            attempt,
            runner,
        },
        Effect::ArmTimer { deadline, due_us },
    ];
    assert_eq!(owed(look.session()), expected);
}

#[test]
fn time_limit_excludes_the_wait_for_a_person() {
    let tools = tools().timeout_ms("pay", 1_000);
    let asked = support()
        .attached(&tools)
        .call("c1", "pay", json!({}))
        .asked();
    let granted = asked.later(3_600_000).granted("ada").started();
    let due = granted.now().after_ms(1_000);
    assert!(
        matches!(granted.current().phase, Phase::Running { deadline: Some(at), .. } if at == due)
    );
}

#[test]
fn timed_out_run_is_answered_once() {
    let look = running("look");
    let late = look.tool_returned(false, &json!({"late": true}));
    let timed_out = look.timed_out();
    assert_eq!(settled(&timed_out), Outcome::TimedOut);
    given(&timed_out).when(late).then_nothing();
}

#[test]
fn the_report_of_an_older_attempt_changes_nothing() {
    let first = running("retry");
    let old = first.tool_returned(false, &json!({}));
    let second = first.attached(&tools()).started();
    assert_eq!(second.attempt(), 2);
    given(&second).when(old).then_nothing();
    let (call, attempt, due_us) = (second.call_seq(), 1, second.now());
    given(&second)
        .when(DeadlinePassed {
            deadline: Deadline::Run { call, attempt },
            due_us,
        })
        .then_nothing();
    given(&second)
        .when(ToolPaused {
            call,
            attempt,
            interim: None,
            state: None,
        })
        .then_nothing();
}

#[test]
fn a_call_cut_off_is_unknown_by_default_and_never_started_again() {
    for cut_off in [
        running("look").attached(&tools()),
        running("look").detached(),
    ] {
        assert_eq!(settled(&cut_off), Outcome::Unknown);
        let starts = cut_off
            .kinds()
            .iter()
            .filter(|kind| **kind == "call_started")
            .count();
        assert_eq!(starts, 1);
    }
}

#[test]
fn an_idempotent_call_cut_off_runs_again_under_the_next_runner() {
    let again = running("retry").detached().attached(&tools()).started();
    assert_eq!(again.attempt(), 2);
    assert_eq!(settled(&again.returned(json!({}))), Outcome::Returned);
}

#[test]
fn a_cut_off_call_that_asks_runs_again_only_after_a_yes() {
    let asked = running("ask").attached(&tools()).asked();
    assert_eq!(
        settled(&asked.clone().denied("ada", None)),
        Outcome::Unknown
    );
    assert_eq!(asked.granted("ada").started().attempt(), 2);
}

#[test]
fn an_approved_idempotent_call_runs_again_by_the_same_approval() {
    let approved = support()
        .call("c1", "pay", json!({}))
        .granted("ada")
        .started();
    assert_eq!(approved.clone().attached(&tools()).started().attempt(), 2);
    let changed = approved.attached(&tools().changed("pay")).asked();
    assert_eq!(settled(&changed.denied("ada", None)), Outcome::Unknown);
}

#[test]
fn crash_between_answer_and_start_runs_call_once() {
    let answered = support()
        .detached()
        .call("c1", "pay", json!({}))
        .granted("ada");
    assert_eq!(answered.attached(&tools()).started().attempt(), 1);
}

#[test]
fn ready_calls_wait_for_a_free_slot_and_take_it_in_call_order() {
    let tools = tools().running_max(1);
    let three = support()
        .attached(&tools)
        .call("c1", "retry", json!({}))
        .call("c2", "retry", json!({}))
        .call("c3", "retry", json!({}));
    assert_eq!(three.session().running(), 1);
    let next = three
        .about("c1")
        .started()
        .returned(json!({}))
        .about("c2")
        .started();
    assert_eq!(next.session().running(), 1);
}

#[test]
fn call_cancelled_by_model_ends_without_a_response() {
    let look = running("look");
    given(&look)
        .when(taken_back(&look, "c1"))
        .then_kinds(["call_cancelled"])
        .owing([]);
    let late = look.tool_returned(false, &json!({}));
    given(&look.taken_back("c1")).when(late).then_nothing();
}

#[test]
fn call_cancelled_before_its_start_never_runs() {
    let waiting = support()
        .detached()
        .call("c1", "look", json!({}))
        .taken_back("c1");
    given(&waiting)
        .when(RunnerDetached {
            reason: "again".to_owned(),
            not_begun: Vec::new(),
        })
        .then_nothing();
    assert!(!waiting.attached(&tools()).kinds().contains(&"call_started"));
}

#[test]
fn cancellation_of_unknown_or_answered_call_has_no_effect() {
    let ended = running("look").returned(json!({})).sent();
    for id in ["c1", "c9"] {
        given(&ended).when(taken_back(&ended, id)).then_nothing();
    }
    let look = running("look");
    let stale = taken_back(&look, "c1");
    given(&look.disconnected().connected())
        .when(stale)
        .then_nothing();
}

#[test]
fn pause_without_interim_response_issues_nothing() {
    let order = support()
        .call("c2", "retry", json!({}))
        .call("c1", "order", json!({}))
        .started();
    let (call, attempt) = (order.call_seq(), 1);
    given(&order)
        .when(ToolPaused {
            call,
            attempt,
            interim: None,
            state: None,
        })
        .then_nothing();
    let supplied = order.paused(None).supplied(json!({"shipped": true}));
    assert_eq!(settled(&supplied), Outcome::Supplied);
    assert!(supplied.about("c2").current().phase.is_running());
}

#[test]
fn interim_response_is_issued_and_call_stays_open() {
    let order = running("order");
    let (call, attempt, of) = (order.call_seq(), 1, Some(order.session().head.next()));
    let route = Route::ToolResponse {
        epoch: order.epoch(),
    };
    given(&order)
        .when(ToolPaused {
            call,
            attempt,
            interim: Some(Json::empty_object()),
            state: None,
        })
        .then([ResponseIssued {
            call,
            outcome: Outcome::Interim,
            of,
            response: None,
            route,
        }
        .into()]);
    assert_eq!(
        order.paused(Some(json!({}))).current().phase,
        Phase::Paused { interim: None }
    );
}

#[test]
fn a_paused_call_outlives_its_runner_and_its_connection() {
    let paused = running("order")
        .paused(None)
        .detached()
        .disconnected()
        .attached(&tools());
    assert_eq!(settled(&paused.supplied(json!({}))), Outcome::Supplied);
}

#[test]
fn supplied_response_is_checked_and_counts_once() {
    let paused = running("order").paused(None);
    let call = paused.call_seq();
    let supply = |name: &str, response: serde_json::Value| Command::SupplyResponse {
        call,
        name: name.to_owned(),
        response: Json::of(&response),
        will_continue: false,
        by: Actor::embedder("warehouse"),
    };
    assert_eq!(
        paused.rejection(supply("look", json!({}))).code(),
        "wrong_name"
    );
    assert_eq!(
        paused.rejection(supply("order", json!("yes"))),
        Rejection::ResponseNotAnObject
    );
    let supplied = paused.supplied(json!({}));
    assert_eq!(
        supplied.rejection(supply("order", json!({}))).code(),
        "already_on_record"
    );
    assert_eq!(
        supplied.rejection(supply("order", json!({"n": 2}))).code(),
        "already_supplied"
    );
}

#[test]
fn interim_supplies_are_ordered_and_keep_call_paused() {
    let paused = running("order").paused(Some(json!({"ticket": 7})));
    let call = paused.call_seq();
    let news = |step: u32| Command::SupplyResponse {
        call,
        name: "order".to_owned(),
        response: Json::of(&json!({"step": step})),
        will_continue: true,
        by: Actor::embedder("warehouse"),
    };
    given(&paused)
        .when_asked(news(1))
        .then_kinds(["response_issued"]);
    let told = paused.commanded(news(1)).commanded(news(2));
    assert_eq!(told.current().phase, Phase::Paused { interim: None });
    assert!(told.current().yields.is_empty());
    let more: Vec<_> = told.told().iter().map(|it| it.will_continue).collect();
    assert_eq!(more, [Some(true); 3]);
    let ended = told.supplied(json!({"shipped": true}));
    assert_eq!(settled(&ended), Outcome::Supplied);
    assert_eq!(ended.rejection(news(3)).code(), "already_supplied");
}

#[test]
fn cancelled_paused_call_sends_no_interim_response() {
    let paused = running("order").paused(Some(json!({"ticket": 7})));
    given(&paused)
        .when(taken_back(&paused, "c1"))
        .then_nothing()
        .owing([]);
    let supplied = paused.taken_back("c1").supplied(json!({}));
    let told = owed(supplied.session());
    assert!(matches!(
        told.as_slice(),
        [Effect::SendResponse {
            as_conversation: true,
            ..
        }]
    ));
}

#[test]
fn a_start_whose_tool_had_not_begun_does_not_count() {
    let waits = running("look").detached_before_it_began();
    let leave = Leave::NotGated;
    assert_eq!(waits.current().phase, Phase::Ready { leave });
    assert!(
        waits
            .kinds()
            .ends_with(&["call_started", "runner_detached"])
    );
    let again = waits.attached(&tools());
    assert_eq!(again.attempt(), 1);
    let done = again.returned(json!({}));
    assert_eq!(settled(&done), Outcome::Returned);
    assert_eq!(done.session().settled[&done.call_seq()].attempts, 1);
}

#[test]
fn unbegun_report_of_another_start_keeps_the_doubt() {
    let look = running("look");
    let call = look.call_seq();
    for start in [
        Start { call, attempt: 2 },
        Start {
            call: Seq(1),
            attempt: 1,
        },
    ] {
        let reason = "shutdown".to_owned();
        let not_begun = vec![start];
        given(&look)
            .when(RunnerDetached { reason, not_begun })
            .then_kinds(["response_issued"]);
    }
}

#[test]
fn what_an_earlier_start_did_stays_in_doubt() {
    let twice = running("retry").detached().attached(&tools());
    assert_eq!(twice.attempt(), 2);
    let waits = twice.detached_before_it_began();
    assert_eq!(
        (waits.current().phase.name(), waits.attempt()),
        ("in_doubt", 1)
    );
    // The tool is declared again meanwhile, and may not run twice any more.
    let settled_now = waits.attached(&toolbox().plain("retry"));
    assert_eq!(settled(&settled_now), Outcome::Unknown);
}

#[test]
fn equal_calls_wait_no_longer_for_one_that_had_not_begun() {
    let tools = toolbox().plain("find").cached("find");
    let support = history().opened("support").attached(&tools).connected();
    let find = |history: History, id| history.call(id, "find", json!({"n": 1}));
    let both = find(find(support, "c1").started(), "c2").about("c1");
    let cancelled = both.detached_before_it_began().cancelled();
    let second = cancelled.about("c2").attached(&tools);
    assert!(second.current().phase.is_running());
}

#[test]
fn unsent_response_loses_its_cancelled_id() {
    let ended = running("look").returned(json!({}));
    let (call, epoch) = (ended.call_seq(), ended.epoch());
    let response = ended.session().settled[&call].at;
    let route = Route::Conversation { epoch };
    let chosen = DeliveryChosen { response, route };
    given(&ended)
        .when(taken_back(&ended, "c1"))
        .then([chosen.into()])
        .owing([Effect::SendResponse {
            response,
            call,
            epoch,
            as_conversation: true,
        }]);
    // The same holds on every connection, even if the model cancels the call again.
    let again = ended.taken_back("c1").taken_back("c1");
    let again = again.disconnected().connected();
    let [told] = again.told()[..] else {
        unreachable!("one word is to be told");
    };
    let epoch = again.epoch();
    assert_eq!(told.route, Route::Conversation { epoch });
}

#[test]
fn unsent_stream_results_survive_cancellation() {
    let chunk = running("look").yielded(json!({"step": 1}));
    assert!(chunk.clone().taken_back("c1").told().is_empty());
    let ended = chunk.returned(json!({})).taken_back("c1");
    let told = ended.told();
    let outcomes: Vec<Outcome> = told.iter().map(|it| it.outcome).collect();
    assert_eq!(outcomes, [Outcome::Interim, Outcome::Returned]);
    let epoch = ended.epoch();
    let route = Route::Conversation { epoch };
    assert!(told.iter().all(|it| it.route == route));
}

#[test]
fn conversation_response_survives_repeated_cancellation() {
    let paying = support().call("c1", "pay", json!({})).taken_back("c1");
    let told = paying.denied("ada", None).taken_back("c1");
    let [told] = told.told()[..] else {
        unreachable!("one word is to be told");
    };
    assert!(matches!(told.route, Route::Conversation { .. }));
}

#[test]
fn approved_rerun_that_did_not_begin_keeps_its_approval() {
    let again = running("ask")
        .attached(&tools())
        .asked()
        .granted("ada")
        .started();
    assert_eq!(again.attempt(), 2);
    let waits = again.detached_before_it_began().attached(&tools());
    assert_eq!(waits.attempt(), 2, "{:?}", waits.kinds());
    assert!(waits.current().phase.is_running(), "{:?}", waits.kinds());
}
