//! Tools that wait for an answer inside their run: time limit, slot and ends.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::json;

use crate::testing::{History, Toolbox, answer_to, history, toolbox};
use crate::{
    About, CancelReason, Deadline, Decision, Effect, Event, InDoubt, Rejection, RequestState,
    Timestamp, open_work, owed,
};

fn tools() -> Toolbox {
    toolbox()
        .plain("send")
        .timeout_ms("send", 1_000)
        .running_max(1)
}

fn sending(tools: &Toolbox) -> History {
    history()
        .opened("support")
        .attached(tools)
        .connected()
        .call("c1", "send", json!({"to": "bob"}))
        .started()
}

fn run_ends_at(history: &History) -> Option<Timestamp> {
    owed(history.session())
        .into_iter()
        .find_map(|effect| match effect {
            Effect::ArmTimer {
                deadline: Deadline::Run { .. },
                due_us,
            } => Some(due_us),
            Effect::ArmTimer { .. }
            | Effect::RunTool { .. }
            | Effect::AskHook { .. }
            | Effect::AskConfirmation { .. }
            | Effect::SendResponse { .. }
            | Effect::SendInstruction { .. }
            | Effect::CloseSession { .. }
            | Effect::Connect => None,
        })
}

fn runs(history: &History) -> bool {
    let owed = owed(history.session());
    owed.iter()
        .any(|effect| matches!(effect, Effect::RunTool { .. }))
}

fn withdrawn_because(history: &History) -> Option<CancelReason> {
    let facts = history.facts().iter().rev();
    facts
        .filter_map(|fact| match &fact.event {
            Event::Decided(Decision::ConfirmationWithdrawn(it)) => Some(it.reason),
            Event::Decided(_) | Event::Observed(_) => None,
        })
        .next()
}

#[test]
fn the_wait_does_not_count_against_the_time_limit() {
    let asked = sending(&tools()).later(400).asks_in_place("Send it?");
    assert_eq!(run_ends_at(&asked), None);
    assert!(runs(&asked), "its run is still owed");
    let answered = asked.later(50_000).granted("ada");
    let left = answered.now().after_ms(600);
    assert_eq!(run_ends_at(&answered), Some(left));
    let again = answered.later(100).asks_in_place("To all of them?");
    let answered = again.later(50_000).denied("ada", Some("not all"));
    assert_eq!(
        run_ends_at(&answered),
        Some(answered.now().after_ms(500)),
        "what is left shrinks only while it runs"
    );
    let ended = answered.later(500).timed_out();
    assert!(ended.session().calls.is_empty());
}

#[test]
fn yes_no_and_expiry_all_resume_the_run() {
    let asked = || sending(&tools()).asks_in_place("Send it?").asked();
    for answered in [
        asked().granted("ada"),
        asked().denied("ada", None),
        asked().timed_out(),
    ] {
        assert!(answered.current().phase.is_running());
        assert_eq!(answered.attempt(), 1);
        assert!(runs(&answered));
        let returned = answered.returned(json!({"sent": true}));
        assert!(returned.session().calls.is_empty());
    }
}

#[test]
fn waiting_run_keeps_its_slot_and_is_open_work() {
    let asked = sending(&tools()).asks_in_place("Send it?");
    let waits = asked.clone().call("c2", "send", json!({"to": "eve"}));
    assert_eq!(waits.current().phase.name(), "ready");
    let (call, request) = (asked.call_seq(), asked.request());
    let open = open_work(asked.session());
    let (_, item) = open.iter().find(|(seq, _)| *seq == call).expect("listed");
    assert_eq!((item.request, item.in_place), (Some(request), true));
    let question = asked
        .facts()
        .iter()
        .rev()
        .find_map(|fact| match &fact.event {
            Event::Decided(decision) => decision.question(),
            Event::Observed(_) => None,
        });
    let question = question.expect("a question");
    assert_eq!(
        (question.about, question.hint.as_deref()),
        (About::Tool, Some("Send it?"))
    );
    assert!(question.asked.is_some());
}

#[test]
fn lost_process_puts_run_in_doubt_and_withdraws_request() {
    for (rule, phase) in [
        (InDoubt::SettleUnknown, None),
        (InDoubt::Retry, Some("in_doubt")),
        (InDoubt::Ask, Some("awaiting_confirmation")),
    ] {
        let tools = tools().in_doubt("send", rule);
        let asked = sending(&tools).asks_in_place("Send it?");
        let request = asked.request();
        let gone = asked.detached();
        assert_eq!(withdrawn_because(&gone), Some(CancelReason::RunnerGone));
        let call = gone.session().calls.values().next();
        assert_eq!(call.map(|it| it.phase.name()), phase);
        let late = gone.rejection(answer_to(request, true, None, "ada"));
        let Rejection::RequestWithdrawn { reason, .. } = late else {
            panic!("{late:?}")
        };
        assert_eq!(reason, CancelReason::RunnerGone);
        if rule == InDoubt::Ask {
            let about = gone.current().phase.clone();
            let crate::Phase::AwaitingConfirmation { about, .. } = about else {
                panic!("{about:?}")
            };
            assert_eq!(about, About::InDoubt);
        }
    }
    // After the yes the run is in doubt as usual, because nothing shows what the tool did.
    let answered = sending(&tools()).asks_in_place("Send it?").granted("ada");
    let gone = answered.detached();
    assert_eq!(withdrawn_because(&gone), None);
    assert!(gone.session().calls.is_empty());
}

#[test]
fn run_that_ends_early_withdraws_its_request() {
    let asked = sending(&tools()).asks_in_place("Send it?");
    let request = asked.request();
    let again = asked.clone().asks_in_place("Or that?");
    assert_eq!(withdrawn_because(&again), Some(CancelReason::ToolEnded));
    assert_ne!(again.request(), request);
    for ended in [
        asked.clone().returned(json!({})),
        asked.clone().failed(json!({"error": "lost patience"})),
        asked.clone().paused(None),
        asked.asks("With more time?"),
    ] {
        let state = &ended.session().requests[&request].state;
        let RequestState::Withdrawn { reason, .. } = state else {
            panic!("{state:?}")
        };
        assert_eq!(*reason, CancelReason::ToolEnded);
        assert!(!runs(&ended));
    }
}

#[test]
fn operator_cancels_the_run_and_model_does_not() {
    let asked = || sending(&tools()).asks_in_place("Send it?");
    let cancelled = asked().cancelled();
    assert_eq!(withdrawn_because(&cancelled), Some(CancelReason::Operator));
    assert!(!runs(&cancelled) && cancelled.session().calls.is_empty());
    assert!(!runs(&asked().closed()));
    let disowned = asked().taken_back("c1");
    assert!(disowned.current().model_lost_interest);
    assert!(runs(&disowned.granted("ada")));
}

#[test]
fn deadline_from_before_the_question_does_not_count() {
    let asked = sending(&tools()).asks_in_place("Send it?");
    let (call, attempt) = (asked.call_seq(), asked.attempt());
    let passed = crate::DeadlinePassed {
        deadline: Deadline::Run { call, attempt },
        due_us: asked.now(),
    };
    let still = asked.observed(passed);
    assert!(runs(&still.asked()));
}

#[test]
fn the_report_of_an_older_attempt_withdraws_nothing() {
    let tools = tools().in_doubt("send", InDoubt::Retry);
    let first = sending(&tools);
    let late = first.tool_returned(false, &json!({"sent": "first"}));
    let second = first.detached().attached(&tools).started();
    let asked = second.asks_in_place("Send it?");
    let still = asked.clone().observed(late);
    assert_eq!(withdrawn_because(&still), None);
    assert_eq!(still.asked().request(), asked.request());
}
