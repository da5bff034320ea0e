use serde_json::json;

use crate::testing::{History, Toolbox, given, history, toolbox};
use crate::*;

use FunctionResponseScheduling::{Interrupt, Silent, WhenIdle};

fn tools() -> Toolbox {
    let tools = toolbox().plain("order").background("order", WhenIdle);
    tools.in_doubt("order", InDoubt::Retry)
}

fn ordering() -> History {
    let support = history().opened("support").attached(&tools()).connected();
    support.call("c1", "order", json!({})).started()
}

/// When the model takes up each response about the call, oldest first.
fn scheduled(history: &History) -> Vec<Option<FunctionResponseScheduling>> {
    let told = history.told().into_iter();
    told.map(|it| it.scheduling).collect()
}

#[test]
fn a_start_in_the_background_is_on_record_with_when_its_result_counts() {
    let support = history().opened("support").attached(&tools()).connected();
    let call = support.session().head.next();
    let ordering = support.call("c1", "order", json!({}));
    let last = ordering.facts().last().map(|fact| &fact.event);
    let (attempt, scheduling) = (1, WhenIdle);
    let spawned = BackgroundSpawned {
        call,
        attempt,
        scheduling,
    };
    assert_eq!(last, Some(&Event::Decided(spawned.into())));
    assert!(ordering.current().phase.is_running());
}

#[test]
fn the_result_says_when_it_is_taken_up_and_what_is_told_meanwhile_does_not() {
    let chunk = ordering().yielded(json!({"step": 1}));
    assert_eq!(scheduled(&chunk), [None]);
    assert_eq!(
        scheduled(&chunk.returned(json!({}))),
        [None, Some(WhenIdle)]
    );
    let paused = ordering().paused(Some(json!({"ticket": 7})));
    assert_eq!(scheduled(&paused), [None]);
    assert_eq!(
        scheduled(&paused.supplied(json!({}))),
        [None, Some(WhenIdle)]
    );
}

#[test]
fn silent_calls_are_acknowledged_silently() {
    let silent = toolbox().plain("order").background("order", Silent);
    let support = history().opened("support").attached(&silent).connected();
    let ordering = support.call("c1", "order", json!({})).started();
    let chunk = ordering.clone().yielded(json!({"status": "running"}));
    assert_eq!(scheduled(&chunk), [Some(Silent)]);
    let paused = ordering.paused(Some(json!({"ticket": 7})));
    assert_eq!(scheduled(&paused), [Some(Silent)]);
}

#[test]
fn a_result_that_says_so_itself_is_taken_up_as_it_says() {
    let ordering = ordering();
    for failed in [false, true] {
        let returned = ToolReturned {
            scheduling: Some(Interrupt),
            ..ordering.tool_returned(failed, &json!({}))
        };
        let done = ordering.clone().observed(returned);
        assert_eq!(scheduled(&done), [Some(Interrupt)]);
    }
}

#[test]
fn what_goes_wrong_in_the_background_is_known_without_a_word() {
    let careful = tools().in_doubt("order", InDoubt::SettleUnknown);
    for ended in [
        ordering().failed(json!({"error": "no"})),
        ordering().cancelled(),
        ordering().attached(&careful),
    ] {
        assert_eq!(scheduled(&ended), [Some(Silent)]);
    }
    let tools = tools().timeout_ms("order", 5);
    let support = history().opened("support").attached(&tools).connected();
    let late = support.call("c1", "order", json!({})).timed_out();
    assert_eq!(scheduled(&late), [Some(Silent)]);
}

#[test]
fn the_result_of_a_call_that_the_model_waits_for_says_nothing() {
    let tools = toolbox().plain("order");
    let support = history().opened("support").attached(&tools).connected();
    let done = support.call("c1", "order", json!({})).returned(json!({}));
    assert_eq!(scheduled(&done), [None]);
}

#[test]
fn the_time_limit_of_inline_calls_does_not_hold_in_the_background() {
    let armed = |tools: Toolbox| {
        let tools = tools.inline_timeout_ms(5);
        let support = history().opened("support").attached(&tools).connected();
        let ordering = support.call("c1", "order", json!({})).started();
        let armed = |effect: &Effect| matches!(effect, Effect::ArmTimer { .. });
        owed(ordering.session()).iter().any(armed)
    };
    assert!(armed(toolbox().plain("order")));
    assert!(!armed(tools()));
    assert!(armed(tools().timeout_ms("order", 5)));
}

#[test]
fn each_start_is_spawned_anew_by_the_policy_of_now() {
    let silent = tools().background("order", Silent);
    let again = ordering().attached(&silent).started();
    let spawned = again
        .kinds()
        .iter()
        .filter(|it| **it == "background_spawned")
        .count();
    assert_eq!((again.attempt(), spawned), (2, 2));
    assert_eq!(scheduled(&again.returned(json!({}))), [Some(Silent)]);
    let waited_for = toolbox().plain("order").in_doubt("order", InDoubt::Retry);
    let again = ordering().attached(&waited_for).started();
    assert_eq!(scheduled(&again.returned(json!({}))), [None]);
}

#[test]
fn an_acknowledgement_of_a_start_that_had_not_begun_is_none_of_the_next_with_the_same_number() {
    let first = ordering();
    let [before, after] = [
        first.clone(),
        first.detached_before_it_began().attached(&tools()),
    ]
    .map(|it| it.session().runner.map(|it| it.seq));
    let again = ordering()
        .detached_before_it_began()
        .attached(&tools())
        .started();
    assert_eq!(again.attempt(), 1);
    let acknowledged_by = |runner| ToolYielded {
        runner,
        ..again.tool_yielded(&json!({"status": "running"}))
    };
    given(&again).when(acknowledged_by(before)).then_nothing();
    for runner in [after, None] {
        given(&again)
            .when(acknowledged_by(runner))
            .then_kinds(["response_issued"]);
    }
}

fn one_response() -> Capabilities {
    Capabilities {
        will_continue: false,
        ..Capabilities::default()
    }
}

#[test]
fn a_model_that_takes_one_response_gets_the_acknowledgement_and_hears_the_result_as_conversation() {
    let routes = |capabilities| {
        let support = history().opened("support").attached(&tools());
        let support = support.connected_as(Some(capabilities));
        let ordering = support.call("c1", "order", json!({})).started();
        let epoch = ordering.epoch();
        let done = ordering.yielded(json!({})).returned(json!({}));
        let routes: Vec<Route> = done.told().into_iter().map(|it| it.route).collect();
        (routes, epoch)
    };
    let (told, epoch) = routes(Capabilities::default());
    let response = Route::ToolResponse { epoch };
    assert_eq!(told, [response, response]);
    let (told, epoch) = routes(one_response());
    assert_eq!(
        told,
        [Route::ToolResponse { epoch }, Route::Conversation { epoch }]
    );
}

#[test]
fn a_model_that_takes_one_response_gets_the_only_one_as_a_response() {
    let tools = toolbox().plain("order");
    let support = history().opened("support").attached(&tools);
    let support = support.connected_as(Some(one_response()));
    let done = support.call("c1", "order", json!({})).returned(json!({}));
    let epoch = done.epoch();
    let route = done.told().first().map(|it| it.route);
    assert_eq!(route, Some(Route::ToolResponse { epoch }));
}

#[test]
fn a_program_that_calls_waits_whatever_the_policy() {
    let support = history().opened("support").attached(&tools());
    let call = support.program_call("order", json!({})).started();
    assert!(!call.kinds().contains(&"background_spawned"));
    given(&call)
        .when(call.tool_returned(false, &json!({})))
        .then_kinds(["response_issued"])
        .owing([]);
}
