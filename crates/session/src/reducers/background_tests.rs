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

/// The scheduling of each response to the call, oldest first.
fn scheduled(history: &History) -> Vec<Option<FunctionResponseScheduling>> {
    let told = history.told().into_iter();
    told.map(|it| it.scheduling).collect()
}

#[test]
fn background_start_records_its_scheduling() {
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
fn result_has_scheduling_and_interim_response_has_none() {
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
fn result_with_own_scheduling_uses_it() {
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
fn background_failure_is_silent() {
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
fn result_of_inline_call_has_no_scheduling() {
    let tools = toolbox().plain("order");
    let support = history().opened("support").attached(&tools).connected();
    let done = support.call("c1", "order", json!({})).returned(json!({}));
    assert_eq!(scheduled(&done), [None]);
}

#[test]
fn inline_time_limit_does_not_apply_in_background() {
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
fn each_start_is_spawned_by_the_current_policy() {
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
fn yield_of_unbegun_start_does_not_count_for_the_next() {
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
fn single_response_model_gets_result_as_conversation() {
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
fn single_response_model_gets_only_response_as_tool_response() {
    let tools = toolbox().plain("order");
    let support = history().opened("support").attached(&tools);
    let support = support.connected_as(Some(one_response()));
    let done = support.call("c1", "order", json!({})).returned(json!({}));
    let epoch = done.epoch();
    let route = done.told().first().map(|it| it.route);
    assert_eq!(route, Some(Route::ToolResponse { epoch }));
}

#[test]
fn program_call_is_never_in_the_background() {
    let support = history().opened("support").attached(&tools());
    let call = support.program_call("order", json!({})).started();
    assert!(!call.kinds().contains(&"background_spawned"));
    given(&call)
        .when(call.tool_returned(false, &json!({})))
        .then_kinds(["response_issued"])
        .owing([]);
}
