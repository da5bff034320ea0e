use serde_json::json;

use crate::testing::{History, Toolbox, history, toolbox};
use crate::*;

fn tools(choice: OnSettled) -> Toolbox {
    let tools = toolbox().plain("look").streaming("watch");
    tools.on_settled(choice)
}

/// A history in which a tool runs and the connection of its call is lost.
fn lost(choice: OnSettled) -> History {
    let opened = history().opened("support").attached(&tools(choice));
    let called = opened.connected().call("c1", "look", json!({})).started();
    called.disconnected()
}

fn scheduled(history: &History) -> ReconnectScheduled {
    ReconnectScheduled {
        attempt: 1,
        due_us: history.now().after_ms(250),
        resumes: None,
    }
}

/// The same history, with another connection scheduled.
fn between(choice: OnSettled) -> History {
    let lost = lost(choice);
    let next = scheduled(&lost);
    lost.observed(next)
}

fn failed(rejected: Option<&str>) -> ConnectFailed {
    ConnectFailed {
        attempt: 1,
        code: Some(1011),
        reason: "busy".to_owned(),
        rejected: rejected.map(str::to_owned),
    }
}

fn exhausted() -> ReconnectsExhausted {
    ReconnectsExhausted {
        attempts: 8,
        reason: "busy".to_owned(),
    }
}

/// The route of the last response on record.
fn route(history: &History) -> Option<Route> {
    let mut routes = history.facts().iter().filter_map(|fact| match &fact.event {
        Event::Decided(Decision::ResponseIssued(it)) => Some(it.route),
        Event::Decided(_) | Event::Observed(_) => None,
    });
    routes.next_back()
}

fn untold(history: &History) -> usize {
    let open = open_work(history.session());
    let untold = open.iter().filter(|(_, it)| it.kind == OpenKind::Untold);
    untold.count()
}

const CHOICES: [(OnSettled, Route); 3] = [
    (OnSettled::Park, Route::Parked),
    (OnSettled::Connect, Route::Connect),
    (OnSettled::Notify, Route::Notify),
];

#[test]
fn outcome_during_reconnect_waits_for_any_policy() {
    for (choice, apart) in CHOICES {
        assert_eq!(route(&lost(choice).returned(json!({}))), Some(apart));
        let ended = between(choice).returned(json!({}));
        assert_eq!(route(&ended), Some(Route::Parked), "{choice:?}");
        let told = ended.connected();
        let epoch = told.epoch();
        let delivery = told.session().deliveries.values().next();
        let route = delivery.map(|it| it.route);
        assert_eq!(route, Some(Route::Conversation { epoch }), "{choice:?}");
    }
}

#[test]
fn outcome_without_reconnect_follows_the_policy() {
    for (choice, apart) in CHOICES {
        let between = between(choice);
        let over = [
            between.clone().observed(exhausted()),
            between.clone().observed(failed(None)),
            between.clone().connected().disconnected(),
        ];
        for history in over {
            assert_eq!(route(&history.returned(json!({}))), Some(apart));
        }
        // If the runner detaches, or its process is gone, the running call ends as unknown.
        let detached = between.detached();
        assert_eq!(route(&detached), Some(apart));
        // A process that is gone does not reconnect, also if it ran nothing.
        let opened = history().opened("support").attached(&tools(choice));
        let called = opened.connected().call("c1", "look", json!({})).started();
        let paused = called.paused(None).disconnected().detached();
        let next = scheduled(&paused);
        let supplied = paused.observed(next).supplied(json!({}));
        assert_eq!(route(&supplied), Some(apart));
    }
}

#[test]
fn reconnect_continues_after_rejected_handle_or_new_plan() {
    let between = between(OnSettled::Notify);
    let refused = between.clone().observed(failed(Some("h1")));
    assert_eq!(route(&refused.returned(json!({}))), Some(Route::Parked));
    let failed = between.observed(failed(None));
    let next = scheduled(&failed);
    let again = failed.observed(next).returned(json!({}));
    assert_eq!(route(&again), Some(Route::Parked));
}

#[test]
fn failed_reconnect_leaves_connection_owed_for_outcome() {
    let ended = between(OnSettled::Connect).returned(json!({}));
    let given_up = ended.observed(exhausted()).detached();
    assert_eq!(untold(&given_up), 1);
    assert!(owed(given_up.session()).contains(&Effect::Connect));
    for choice in [OnSettled::Park, OnSettled::Notify] {
        let ended = between(choice).returned(json!({}));
        let given_up = ended.observed(exhausted()).detached();
        assert_eq!(untold(&given_up), 0, "{choice:?}");
        // The next connection, of whatever origin, sends it to the model.
        assert_eq!(given_up.session().deliveries.len(), 1, "{choice:?}");
    }
}

#[test]
fn interim_response_opens_no_connection() {
    let opened = history().opened("support");
    let opened = opened.attached(&tools(OnSettled::Connect)).connected();
    let watching = opened.call("c1", "watch", json!({})).started();
    let news = watching.disconnected().yielded(json!({"step": 1}));
    assert_eq!(route(&news), Some(Route::Parked));
    assert_eq!(untold(&news), 0);
    assert!(!owed(news.session()).contains(&Effect::Connect));
    let ended = news.returned(json!({}));
    assert_eq!(route(&ended), Some(Route::Connect));
    assert_eq!(untold(&ended), 1);
    let told = ended.connected();
    let outcomes: Vec<Outcome> = told.told().iter().map(|it| it.outcome).collect();
    assert_eq!(outcomes, [Outcome::Interim, Outcome::Returned]);
}

#[test]
fn notify_policy_applies_to_interim_responses() {
    let opened = history().opened("support");
    let opened = opened.attached(&tools(OnSettled::Notify)).connected();
    let watching = opened.call("c1", "watch", json!({})).started();
    let news = watching.disconnected().yielded(json!({"step": 1}));
    assert_eq!(route(&news), Some(Route::Notify));
}
