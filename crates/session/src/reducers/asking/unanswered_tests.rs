#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::json;

use super::*;
use crate::testing::{History, Toolbox, answer_to, history, toolbox};
use crate::*;

const MINUTE_MS: u64 = 60_000;

fn tools() -> Toolbox {
    let tools = toolbox().gated("pay").expires_ms("pay", MINUTE_MS);
    tools.runs_unanswered("pay")
}

fn asked_with(tools: &Toolbox) -> History {
    let support = history().opened("support").attached(tools).connected();
    support.call("c1", "pay", json!({"cents": 4200})).asked()
}

fn asked() -> History {
    asked_with(&tools())
}

fn settled(history: &History) -> Option<Outcome> {
    let settled = history.session().settled.get(&history.call_seq());
    settled.map(|it| it.outcome)
}

fn runs(history: &History) -> bool {
    let call = history.session().calls.get(&history.call_seq());
    call.is_some_and(|it| it.phase.is_running())
}

fn last_kinds<const N: usize>(history: &History) -> [&'static str; N] {
    history.kinds().last_chunk().copied().unwrap()
}

#[test]
fn unanswered_call_runs_after_a_waiver_on_record() {
    let before = asked();
    let (call, request) = (before.call_seq(), before.request());
    let late = before.timed_out();
    let kinds = [
        "deadline_passed",
        "confirmation_expired",
        "gate_waived",
        "call_ready",
        "call_started",
    ];
    assert_eq!(last_kinds(&late), kinds);
    let expired = ConfirmationExpired {
        call,
        request,
        goes_on: true,
    };
    let expired = Event::from(Decision::from(expired));
    let facts = late.facts();
    assert!(facts.iter().any(|fact| fact.event == expired));
    let waived = facts.iter().find_map(|fact| match &fact.event {
        Event::Decided(Decision::GateWaived(it)) => Some(it),
        Event::Decided(_) | Event::Observed(_) => None,
    });
    let waived = waived.unwrap();
    assert_eq!((waived.call, waived.unanswered), (call, Some(request)));
    assert!(waived.reason.contains("no person answered") && waived.reason.contains("\"pay\""));
    let leave = match late.current().phase {
        Phase::Running { leave, .. } => leave,
        ref other => panic!("it is {}", other.name()),
    };
    assert_eq!(leave, Leave::Unanswered(request));
    assert_eq!(
        settled(&late.returned(json!({"paid": true}))),
        Some(Outcome::Returned)
    );
}

#[test]
fn request_names_the_term_only_where_it_has_one() {
    let term_of = |history: &History| {
        let question = history.facts().iter().rev().find_map(|it| match &it.event {
            Event::Decided(decision) => decision.question(),
            Event::Observed(_) => None,
        });
        serde_json::to_value(question.unwrap()).unwrap()["on_expiry"].clone()
    };
    assert_eq!(term_of(&asked()), "allow");
    let denies = toolbox().gated("pay").expires_ms("pay", MINUTE_MS);
    assert_eq!(term_of(&asked_with(&denies)), json!(null));
}

#[test]
fn answer_in_time_decides_as_ever() {
    assert_eq!(settled(&asked().denied("ada", None)), Some(Outcome::Denied));
    assert!(runs(&asked().granted("ada")));
}

#[test]
fn late_answer_is_told_that_the_call_runs() {
    let before = asked();
    let request = before.request();
    let late = before.timed_out();
    let refused = late.rejection(answer_to(request, false, None, "ada"));
    assert_eq!(refused.code(), "request_expired");
    assert!(
        refused
            .to_string()
            .ends_with("runs without an answer, as its policy says")
    );
}

#[test]
fn call_that_the_model_took_back_is_denied() {
    let late = asked().taken_back("c1").timed_out();
    assert_eq!(settled(&late), Some(Outcome::Expired));
    assert!(!late.kinds().contains(&"gate_waived"));
}

#[test]
fn terms_that_only_a_person_meets_are_never_waived() {
    type Change = fn(&mut ToolPolicy);
    let changes: [Change; 5] = [
        |it| it.gate_terms.approvers = [Approvers::roles(["finance"])].into(),
        |it| it.gate_terms.not_requester = true,
        |it| it.gate_terms.quorum = Some(2),
        |it| it.gate_terms.payload = Some(json!({"type": "object"})),
        |it| it.gate_terms.edits = Some(Edits::ApprovedAnew),
    ];
    for change in changes {
        let late = asked_with(&tools().policy("pay", change)).timed_out();
        assert_eq!(settled(&late), Some(Outcome::Expired));
        assert!(!late.kinds().contains(&"call_started"));
    }
}

#[test]
fn a_choice_without_a_time_asks_without_end() {
    let untimed = toolbox().gated("pay").runs_unanswered("pay");
    let asked = asked_with(&untimed);
    assert_eq!(overdue(asked.session(), Timestamp(i64::MAX)), []);
}

#[test]
fn stricter_policy_before_the_expiry_asks_again_and_denies() {
    let strict = toolbox().gated("pay").expires_ms("pay", MINUTE_MS);
    let anew = asked().attached(&strict);
    assert_eq!(last_kinds(&anew), ["confirmation_reopened"]);
    assert_eq!(settled(&anew.timed_out()), Some(Outcome::Expired));
}

#[test]
fn looser_policy_before_the_expiry_asks_again_and_runs() {
    let strict = toolbox().gated("pay").expires_ms("pay", MINUTE_MS);
    let anew = asked_with(&strict).attached(&tools());
    assert_eq!(last_kinds(&anew), ["confirmation_reopened"]);
    assert!(runs(&anew.timed_out()));
}

#[test]
fn stricter_policy_after_the_expiry_asks_before_the_start() {
    let late = asked().detached().timed_out();
    assert_eq!(last_kinds(&late), ["gate_waived", "call_ready"]);
    let same = late.clone().attached(&tools());
    assert!(runs(&same));
    let strict = toolbox().gated("pay").expires_ms("pay", MINUTE_MS);
    let anew = late.attached(&strict);
    assert_eq!(last_kinds(&anew), ["confirmation_reopened"]);
    assert!(!runs(&anew));
}

#[test]
fn unanswered_question_about_a_doubt_runs_nothing() {
    let tools = tools().in_doubt("pay", InDoubt::Ask);
    let cut_off = asked_with(&tools).granted("ada").started().detached();
    let late = cut_off.attached(&tools).asked().timed_out();
    assert_eq!(settled(&late), Some(Outcome::Unknown));
}

#[test]
fn unanswered_question_of_a_tool_denies_its_run() {
    let asks = asked().granted("ada").started().asks_in_place("More?");
    let answered = asks.asked().timed_out();
    assert!(!answered.kinds().contains(&"gate_waived"));
}

#[test]
fn folded_state_keeps_the_term_and_the_end() {
    let reread = |history: &History| {
        let text = serde_json::to_string(history.session()).unwrap();
        serde_json::from_str::<Session>(&text).unwrap()
    };
    let (before, late) = (asked(), asked().timed_out());
    for history in [before, late] {
        let (again, folded) = (reread(&history), history.session());
        assert_eq!(
            (&again.calls, &again.requests),
            (&folded.calls, &folded.requests)
        );
    }
}

#[test]
fn a_merged_gate_runs_only_if_both_gates_let_it() {
    use OnExpiry::{Allow, Deny};
    let gate = |on_expiry| {
        let mut gate = ToolPolicy::gate("Pay?");
        gate.gate_terms.on_expiry = on_expiry;
        gate
    };
    let merged = |one, other| gate(one).merged(gate(other)).gate_terms.on_expiry;
    assert_eq!(merged(Some(Allow), Some(Allow)), Some(Allow));
    assert_eq!(merged(Some(Allow), None), Some(Deny));
    assert_eq!(merged(Some(Deny), Some(Allow)), Some(Deny));
    assert_eq!(merged(None, None), None);
    let mut open = ToolPolicy::default();
    open.gate_terms.on_expiry = Some(Allow);
    assert_eq!(
        gate(None).merged(open.clone()).gate_terms.on_expiry,
        Some(Allow)
    );
    assert_eq!(
        gate(Some(Deny)).merged(open).gate_terms.on_expiry,
        Some(Deny)
    );
}
