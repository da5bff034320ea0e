#![expect(
    clippy::indexing_slicing,
    reason = "a test that meets the impossible must stop"
)]

use std::time::Duration;

use serde_json::json;

use super::owed as owed_here;
use crate::testing::{History, Toolbox, given, history, toolbox};
use crate::*;

/// A gated tool whose calls are acknowledged after ten seconds.
fn tools() -> Toolbox {
    toolbox().gated("pay").acknowledges_after_ms(10_000)
}

fn connected(tools: &Toolbox) -> History {
    history().opened("support").attached(tools).connected()
}

fn asked(tools: &Toolbox) -> History {
    connected(tools)
        .call("c1", "pay", json!({"cents": 7}))
        .asked()
}

fn takes_one() -> Capabilities {
    Capabilities {
        async_tools: false,
        will_continue: false,
        ..Capabilities::default()
    }
}

/// The outcomes and routes of all responses, oldest first.
fn responses(history: &History) -> Vec<(Outcome, Route)> {
    let issued = history.facts().iter().filter_map(|fact| match &fact.event {
        Event::Decided(Decision::ResponseIssued(it)) => Some((it.outcome, it.route)),
        Event::Decided(_) | Event::Observed(_) => None,
    });
    issued.collect()
}

/// The timer of the current call's acknowledgement, if one is owed.
fn timer(history: &History) -> Option<Timestamp> {
    let effects = owed(history.session()).into_iter();
    let mut timers = effects.filter_map(|effect| {
        if let Effect::ArmTimer {
            deadline: Deadline::Acknowledgement { .. },
            due_us,
        } = effect
        {
            Some(due_us)
        } else {
            None
        }
    });
    timers.next()
}

fn passed(history: &History) -> DeadlinePassed {
    DeadlinePassed {
        deadline: Deadline::Acknowledgement {
            call: history.call_seq(),
        },
        due_us: history.now(),
    }
}

#[test]
fn wait_is_acknowledged_once_its_time_has_passed() {
    let asked = asked(&tools());
    assert_eq!(responses(&asked), []);
    assert!(asked.session().model_waits(|_| true));
    assert_eq!(timer(&asked), Some(asked.now().after_ms(10_000)));
    let late = asked.clone().later(10_000);
    assert_eq!(overdue(late.session(), Timestamp(late.now().0 - 1)), []);
    assert_eq!(overdue(late.session(), late.now()), [passed(&late).into()]);
    given(&late)
        .when(passed(&late))
        .then_kinds(["response_issued"]);
    let told = late.clone().observed(passed(&late));
    let epoch = told.epoch();
    assert_eq!(
        responses(&told),
        [(Outcome::Interim, Route::ToolResponse { epoch })]
    );
    assert_eq!(timer(&told), None);
    given(&told).when(passed(&told)).then_nothing();
}

#[test]
fn call_decided_in_time_gets_only_its_final_response_by_id() {
    for paid in [
        asked(&tools())
            .later(9_999)
            .granted("ada")
            .returned(json!({"paid": true})),
        asked(&tools()).later(9_999).denied("ada", None),
    ] {
        let epoch = paid.epoch();
        let issued = responses(&paid);
        assert_eq!(issued.len(), 1);
        assert_eq!(issued[0].1, Route::ToolResponse { epoch });
        assert_eq!(paid.told()[0].will_continue, None);
        assert_eq!(timer(&paid), None);
        let late = paid.later(10_000);
        given(&late).when(passed(&late)).then_nothing();
    }
}

#[test]
fn result_after_acknowledgement_may_be_conversation() {
    let opened = history().opened("support").attached(&tools());
    let asked = opened
        .connected_as(Some(takes_one()))
        .call("c1", "pay", json!({"cents": 7}))
        .later(10_000);
    let told = asked.clone().observed(passed(&asked));
    let denied = told.denied("ada", None);
    let epoch = denied.epoch();
    assert_eq!(
        responses(&denied),
        [
            (Outcome::Interim, Route::ToolResponse { epoch }),
            (Outcome::Denied, Route::Conversation { epoch }),
        ]
    );
}

#[test]
fn time_of_a_pause_begins_with_the_pause() {
    let tools = toolbox().plain("pay").acknowledges_after_ms(10_000);
    let opened = history().opened("support").attached(&tools);
    let running = opened
        .connected_as(Some(takes_one()))
        .call("c1", "pay", json!({}))
        .started();
    let paused = running.later(60_000).paused(None);
    assert_eq!(responses(&paused), []);
    assert_eq!(timer(&paused), Some(paused.now().after_ms(10_000)));
    let late = paused.later(10_000);
    given(&late)
        .when(passed(&late))
        .then_kinds(["response_issued"]);
    let supplied = late.supplied(json!({"paid": true}));
    let epoch = supplied.epoch();
    assert_eq!(
        responses(&supplied),
        [(Outcome::Supplied, Route::ToolResponse { epoch })]
    );
}

#[test]
fn words_of_a_pausing_tool_are_sent_at_once() {
    let tools = toolbox().plain("pay").acknowledges_after_ms(10_000);
    let running = connected(&tools).call("c1", "pay", json!({})).started();
    let paused = running.paused(Some(json!({"ticket": 7})));
    assert_eq!(responses(&paused).len(), 1);
}

#[test]
fn question_asked_anew_continues_the_wait() {
    let asked = asked(&tools());
    let due = timer(&asked);
    let anew = asked.later(4_000).attached(&tools().changed("pay"));
    assert!(anew.kinds().contains(&"confirmation_reopened"));
    assert_eq!(timer(&anew), due);
}

#[test]
fn call_of_another_connection_is_not_acknowledged() {
    let lost = asked(&tools()).disconnected();
    assert_eq!(timer(&lost), None);
    let again = lost.connected().later(10_000);
    assert_eq!(timer(&again), None);
    given(&again).when(passed(&again)).then_nothing();
    let cancelled = asked(&tools()).taken_back("c1");
    assert_eq!(timer(&cancelled), None);
}

#[test]
fn call_delivered_again_is_acknowledged_at_its_time() {
    let asked = connected(&tools()).handle("h1").turn_ended();
    let asked = asked.call("c1", "pay", json!({"cents": 7})).asked();
    let due = timer(&asked);
    let again = asked.disconnected().later(4_000).resumed();
    let again = again.call("c1", "pay", json!({"cents": 7}));
    assert_eq!(timer(&again), due);
    let late = again.later(6_000);
    let told = late.clone().observed(passed(&late));
    let epoch = told.session().connection;
    assert_eq!(
        responses(&told)[0].1,
        Route::ToolResponse {
            epoch: epoch.unwrap_or(Seq(0))
        }
    );
}

#[test]
fn request_that_expires_first_is_never_acknowledged() {
    let sooner = tools().expires_ms("pay", 10_000);
    assert_eq!(timer(&asked(&sooner)), None);
    let later = tools().expires_ms("pay", 10_001);
    let asked = asked(&later);
    assert!(timer(&asked).is_some());
    // Both times have passed when the clock is looked at again.
    let late = asked.now().after_ms(20_000);
    let kinds = overdue(asked.session(), late);
    assert_eq!(kinds.len(), 1, "{kinds:?}");
}

#[test]
fn time_of_the_tool_counts_before_that_of_the_agent() {
    let own = |ms| {
        let time = Some(Duration::from_millis(ms));
        tools().policy("pay", |policy| policy.acknowledge_after = time)
    };
    for ms in [1, 25_000] {
        let asked = asked(&own(ms));
        assert_eq!(timer(&asked), Some(asked.now().after_ms(ms)));
    }
}

#[test]
fn other_time_in_force_applies_to_open_waits() {
    let asked = asked(&tools());
    let since = asked.now();
    let longer = asked.attached(&tools().acknowledges_after_ms(30_000));
    assert_eq!(timer(&longer), Some(since.after_ms(30_000)));
    let early = longer.clone().later(10_000);
    given(&early).when(passed(&early)).then_nothing();
    let none = toolbox().gated("pay").acknowledges();
    assert_eq!(responses(&longer.attached(&none)).len(), 1);
}

#[test]
fn agent_without_acknowledgements_has_no_timer() {
    let time = Some(Duration::from_secs(10));
    let silent = toolbox().gated("pay");
    let silent = silent.policy("pay", |policy| policy.acknowledge_after = time);
    assert_eq!(timer(&asked(&silent)), None);
}

#[test]
fn expiry_is_the_deadline_in_the_index() {
    let asked = asked(&tools());
    let waits = open_work(asked.session());
    let waits = waits.iter().find(|(seq, _)| *seq == asked.call_seq());
    assert_eq!(waits.map(|(_, it)| it.deadline), Some(None));
    let mut effects = Vec::new();
    owed_here(
        asked.session(),
        asked.call_seq(),
        asked.current(),
        &mut effects,
    );
    assert_eq!(effects.len(), 1);
}

#[test]
fn delayed_acknowledgement_needs_rules_2() {
    let catalog = Catalog::default();
    let of_all = PolicySet {
        acknowledge_after: Some(Duration::from_secs(10)),
        ..PolicySet::default()
    };
    assert_eq!(rules_needed(&catalog, &of_all), 2);
    let mut of_tool = PolicySet::default();
    let policy = ToolPolicy {
        acknowledge_after: Some(Duration::from_secs(10)),
        ..ToolPolicy::default()
    };
    of_tool.tools.insert("pay".to_owned(), policy);
    assert_eq!(rules_needed(&catalog, &of_tool), 2);
    assert_eq!(asked(&tools()).session().rules, 2);
}
