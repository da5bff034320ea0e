use serde_json::json;

use crate::testing::{History, history, toolbox};
use crate::*;

const WHY: &str = "the user said goodbye";

fn support() -> History {
    let tools = toolbox().plain("end").plain("work");
    history().opened("support").attached(&tools).connected()
}

fn running() -> History {
    support().call("c1", "end", json!({})).started()
}

fn wants_to_close(history: &History) -> bool {
    owed(history.session())
        .iter()
        .any(|effect| matches!(effect, Effect::CloseSession { .. }))
}

#[test]
fn response_is_sent_before_the_close() {
    let returned = running().returned_and_ends(WHY);
    assert!(!wants_to_close(&returned), "the reply has not left");
    let sent = returned.sent();
    let closing = sent.session().closing.clone().map(|it| (it.of, it.call));
    let Some((of, call)) = closing else {
        return assert!(wants_to_close(&sent));
    };
    assert_eq!(owed(sent.session()), [Effect::CloseSession { of, call }]);
    let closed = sent.closed_by_its_tool();
    assert!(closed.session().closed && owed(closed.session()).is_empty());
}

#[test]
fn close_does_not_wait_for_unsendable_response() {
    let returned = running().returned_and_ends(WHY);
    assert!(wants_to_close(&returned.clone().disconnected()));
    let taken_back = returned.clone().taken_back("c1");
    // The response is sent as conversation then, and the close waits for it, too.
    assert!(!wants_to_close(&taken_back));
    assert!(wants_to_close(&taken_back.sent()));
    let apart = running().disconnected().returned_and_ends(WHY);
    assert!(wants_to_close(&apart), "it is parked");
    let by_program = support().program_call("end", json!({})).started();
    assert!(wants_to_close(&by_program.returned_and_ends(WHY)));
}

#[test]
fn agents_response_is_sent_before_the_close() {
    let tools = toolbox().plain("end").gated("pay").plain("work");
    let tools = tools
        .timeout_ms("work", 1_000)
        .plain("toil")
        .streaming("watch");
    let tools = tools.agent("clerk", ["end", "pay", "work", "toil", "watch"]);
    let tools = tools.agent("boss", ["clerk"]);
    let support = history().opened("support").attached(&tools).connected();
    let asks = support.call("c1", "boss", json!({})).asks_model();
    let boss = asks.call_seq();
    let asks = asks.model_calls(&["clerk"]).asks_model();
    let clerk = asks.call_seq();
    let ended = |calls: &[&str]| {
        let called = asks.clone().model_calls(calls);
        let calls = called.session().calls.iter();
        let ends = calls.filter(|(_, it)| it.name == "end");
        let end = ends.map(|(seq, _)| *seq).max().unwrap_or(Seq(0));
        called.at_call(end).returned_and_ends(WHY)
    };
    let returned = ended(&["end"]);
    assert!(!wants_to_close(&returned), "the agents are still to reply");
    assert!(!wants_to_close(&ended(&["work", "end"])));
    let told = returned.at_call(clerk).asks_model().model_done();
    assert!(!wants_to_close(&told));
    let told = told.at_call(boss).asks_model().model_done();
    assert!(!wants_to_close(&told), "the reply has not left");
    assert!(wants_to_close(&told.sent()));
    // The close does not wait for a person, who may take weeks.
    assert!(wants_to_close(&ended(&["pay", "end"])));
    // A stream may never end, and neither may a run without a time limit.
    assert!(wants_to_close(&ended(&["watch", "end"])));
    assert!(wants_to_close(&ended(&["toil", "end"])));
}

#[test]
fn close_does_not_wait_for_unreachable_agent() {
    let tools = toolbox().plain("end").inner("end").plain("other");
    let without_clerk = tools.clone().agent("boss", ["clerk"]);
    let tools = without_clerk.clone().agent("clerk", ["end"]);
    let support = history().opened("support").attached(&tools).connected();
    let works = |support: History| {
        let asks = support.asks_model().model_calls(&["clerk"]).asks_model();
        asks.model_calls(&["end"]).returned_and_ends(WHY)
    };
    let ended = works(support.clone().call("c1", "boss", json!({})));
    assert!(!wants_to_close(&ended));
    let gone = ended.clone().disconnected();
    assert!(wants_to_close(&gone), "the reply reaches no model");
    let back = |tools| gone.clone().detached().attached(tools).connected();
    assert!(!wants_to_close(&back(&tools)), "it is told there");
    assert!(wants_to_close(&back(&without_clerk)));

    // A program receives the reply without a connection, as long as its process is attached.
    let apart = support.disconnected().program_call("boss", json!({}));
    let ended = works(apart);
    assert!(!wants_to_close(&ended));
    assert!(wants_to_close(&ended.detached()));
}

#[test]
fn close_ends_other_calls_without_their_responses() {
    let works = support().call("c1", "work", json!({})).started();
    let ends = works.call("c2", "end", json!({})).started();
    let sent = ends.returned_and_ends(WHY).sent();
    let closed = sent.closed_by_its_tool();
    assert_eq!(
        closed.kinds().last_chunk(),
        Some(&["session_closed", "call_cancelled"])
    );
}

#[test]
fn failed_or_older_run_cannot_close_the_session() {
    let failed = ToolReturned {
        ends_session: Some(WHY.to_owned()),
        ..running().tool_returned(true, &json!({}))
    };
    let failed = running().observed(failed);
    assert_eq!(failed.session().closing, None);
    let late = ToolReturned {
        attempt: 7,
        ends_session: Some(WHY.to_owned()),
        ..running().tool_returned(false, &json!({}))
    };
    assert_eq!(running().observed(late).session().closing, None);
}

#[test]
fn first_close_request_counts_and_stays_open_work() {
    let first = running().returned_and_ends(WHY);
    let second = first
        .call("c2", "end", json!({}))
        .started()
        .returned_and_ends("another");
    let closing = second.session().closing.as_ref();
    assert_eq!(closing.map(|it| it.reason.as_str()), Some(WHY));
    let kinds = |history: &History| {
        let open = open_work(history.session()).into_iter();
        open.map(|(_, it)| it.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&second), [OpenKind::Session, OpenKind::Closing]);
    assert_eq!(kinds(&second.closed_by_its_tool()), []);
}
