#![expect(
    clippy::indexing_slicing,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::json;

use crate::testing::{History, Toolbox, given, history, toolbox};
use crate::*;

fn tools() -> Toolbox {
    toolbox()
        .streaming("watch")
        .in_doubt("watch", InDoubt::Retry)
}

fn watching() -> History {
    let support = history().opened("support").attached(&tools()).connected();
    support.call("c1", "watch", json!({})).started()
}

/// The responses in the order of sending, each with its `willContinue`.
fn responses(history: &History) -> Vec<(Outcome, Option<bool>, Route)> {
    let responses = history.told().into_iter();
    responses
        .map(|it| (it.outcome, it.will_continue, it.route))
        .collect()
}

#[test]
fn each_chunk_is_issued_at_once_and_refers_to_its_record() {
    let watching = watching();
    let (call, of) = (watching.call_seq(), watching.session().head.next());
    let route = Route::ToolResponse {
        epoch: watching.epoch(),
    };
    given(&watching)
        .when(watching.tool_yielded(&json!({"step": 1})))
        .then([ResponseIssued {
            call,
            outcome: Outcome::Interim,
            of: Some(of),
            response: None,
            route,
        }
        .into()]);
    assert!(watching.yielded(json!({})).current().phase.is_running());
}

#[test]
fn chunks_are_ordered_and_only_the_last_ends_the_stream() {
    let watching = watching();
    let route = Route::ToolResponse {
        epoch: watching.epoch(),
    };
    let chunks = watching
        .yielded(json!({"step": 1}))
        .yielded(json!({"step": 2}));
    let done = chunks.returned(json!({"steps": 2}));
    let more = (Outcome::Interim, Some(true), route);
    assert_eq!(
        responses(&done),
        [more, more, (Outcome::Returned, Some(false), route)]
    );
    let facts = done.facts().iter();
    let of = facts.filter_map(|fact| match &fact.event {
        Event::Decided(Decision::ResponseIssued(it)) => it.of,
        Event::Decided(_) | Event::Observed(_) => None,
    });
    assert!(of.is_sorted());
}

#[test]
fn response_without_chunks_has_no_will_continue() {
    let done = watching().returned(json!({}));
    assert_eq!(done.told()[0].will_continue, None);
}

#[test]
fn every_end_of_a_stream_has_will_continue_false() {
    let chunk = watching().yielded(json!({}));
    for end in [
        chunk.clone().failed(json!({"error": "no"})),
        chunk.clone().cancelled(),
        chunk.attached(&tools().in_doubt("watch", InDoubt::SettleUnknown)),
    ] {
        let last = responses(&end).pop();
        assert_eq!(last.and_then(|(_, more, _)| more), Some(false));
    }
}

#[test]
fn a_chunk_after_the_end_changes_nothing() {
    let watching = watching();
    let chunk = watching.tool_yielded(&json!({}));
    for ended in [
        watching.clone().returned(json!({})),
        watching.clone().cancelled(),
        watching.clone().detached(),
        watching.clone().taken_back("c1"),
        watching.closed(),
    ] {
        given(&ended).when(chunk.clone()).then_nothing();
    }
}

#[test]
fn a_chunk_of_an_older_attempt_changes_nothing() {
    let first = watching();
    let chunk = first.tool_yielded(&json!({}));
    let second = first.attached(&tools()).started();
    assert_eq!(second.attempt(), 2);
    given(&second).when(chunk).then_nothing();
}

#[test]
fn parked_chunk_is_conversation_on_the_next_connection() {
    let lost = watching().disconnected().yielded(json!({"step": 1}));
    assert_eq!(
        responses(&lost),
        [(Outcome::Interim, Some(true), Route::Parked)]
    );
    let back = lost.connected();
    let epoch = back.epoch();
    let route = Route::Conversation { epoch };
    assert_eq!(responses(&back), [(Outcome::Interim, Some(true), route)]);
    let response = back.told()[0].call;
    assert_eq!(response, back.call_seq());
    assert!(owed(back.session()).iter().any(|effect| matches!(
        effect,
        Effect::SendResponse {
            as_conversation: true,
            ..
        }
    )));
}

#[test]
fn confirmed_response_is_not_sent_again() {
    let heard = watching().yielded(json!({})).sent().heard();
    assert!(responses(&heard).is_empty());
    let done = heard.returned(json!({}));
    assert_eq!(done.told()[0].will_continue, Some(false));
}

#[test]
fn a_stream_has_no_time_limit_unless_its_tool_names_one() {
    let armed = |tools: Toolbox| {
        let support = history().opened("support").attached(&tools).connected();
        let watching = support.call("c1", "watch", json!({})).started();
        let armed = |effect: &Effect| matches!(effect, Effect::ArmTimer { .. });
        owed(watching.session()).iter().any(armed)
    };
    assert!(!armed(tools().inline_timeout_ms(5)));
    assert!(armed(tools().timeout_ms("watch", 5)));
    assert!(armed(toolbox().plain("watch").inline_timeout_ms(5)));
}
