#![expect(
    clippy::indexing_slicing,
    reason = "a test that meets the impossible must stop"
)]

use serde_json::json;

use crate::testing::{History, Toolbox, answer_to, given, history, toolbox};
use crate::*;

fn tools() -> Toolbox {
    toolbox()
        .plain("look")
        .gated("pay")
        .expires_ms("pay", 60_000)
        .gated("wipe")
        .long_running("order")
        .gated("order")
}

fn support() -> History {
    history().opened("support").attached(&tools()).connected()
}

fn asked() -> History {
    support().call("c1", "pay", json!({"cents": 4200})).asked()
}

fn settled(history: &History) -> Outcome {
    history.session().settled[&history.call_seq()].outcome
}

fn last_response(history: &History) -> serde_json::Value {
    let issued = history
        .facts()
        .iter()
        .rev()
        .find_map(|fact| match &fact.event {
            Event::Decided(Decision::ResponseIssued(it)) => it.response.clone(),
            Event::Decided(_) | Event::Observed(_) => None,
        });
    issued.map(|json| json.to_value()).unwrap_or_default()
}

#[test]
fn a_gated_call_asks_about_its_contract_and_its_argument_bytes() {
    let asked = asked();
    let tools = tools();
    let (declared, policy) = (&tools.catalog().tools["pay"], tools.policies().of("pay"));
    let question = asked.facts().iter().find_map(|fact| match &fact.event {
        Event::Decided(Decision::ConfirmationRequested(it)) => Some(it.clone()),
        Event::Decided(_) | Event::Observed(_) => None,
    });
    let expected = ConfirmationRequested {
        call: asked.call_seq(),
        about: About::Gate,
        hint: Some("May it pay?".to_owned()),
        args_sha256: ObjectHash::of(br#"{"cents":4200}"#),
        contract: catalog::contract_hash(declared, policy),
        declaration: catalog::declaration_hash(declared, policy),
        expires_at_us: Some(asked.now().after_ms(60_000)),
        on_expiry: OnExpiry::Deny,
        payload_schema: None,
        asked: None,
        may_allow_for_session: false,
        needs: None,
    };
    assert_eq!(question, Some(expected));
}

#[test]
fn an_approved_call_starts_once_and_is_answered_once() {
    let (call, runner) = (asked().call_seq(), Seq(2));
    given(&asked())
        .when_asked(asked().answer(true, None, "ada"))
        .then([
            CallReady { call }.into(),
            CallStarted {
                call,
                attempt: 1,
                runner,
                deadline_us: None,
            }
            .into(),
        ])
        .owing([Effect::RunTool {
            call,
            attempt: 1,
            runner,
        }]);
    let paid = asked()
        .granted("ada")
        .started()
        .returned(json!({"paid": true}));
    assert_eq!(settled(&paid), Outcome::Returned);
}

#[test]
fn denied_call_never_starts_and_model_gets_reason() {
    let denied = asked().denied("ada", Some("too much"));
    assert_eq!(settled(&denied), Outcome::Denied);
    assert_eq!(
        last_response(&denied)["error"],
        "the call was denied and did not run: too much"
    );
    assert!(!denied.kinds().contains(&"call_started"));
}

#[test]
fn plain_call_does_not_wait_for_gated_call_of_same_turn() {
    let both = asked()
        .call("c2", "look", json!({}))
        .started()
        .returned(json!({}));
    assert_eq!(settled(&both), Outcome::Returned);
    assert!(
        both.about("c1")
            .asked()
            .granted("ada")
            .current()
            .phase
            .is_running()
    );
}

#[test]
fn two_gated_calls_are_asked_in_call_order_and_answered_in_any() {
    let both = asked().call("c2", "wipe", json!({})).asked();
    let requests: Vec<Seq> = owed(both.session()).iter().filter_map(question).collect();
    let (second, first) = (both.request(), both.clone().about("c1").request());
    assert_eq!(requests, [first, second]);
    let (c2, c1) = (both.call_seq(), both.clone().about("c1").call_seq());
    let open = |history: &History| [c1, c2].map(|call| open_request(history.session(), call));
    assert_eq!(open(&both), [Some(first), Some(second)]);
    assert_eq!(open_request(both.session(), Seq(1)), None);
    let both = both.granted("ada");
    assert_eq!(open(&both), [Some(first), None]);
    let both = both.started().about("c1").asked().denied("ada", None);
    assert_eq!(settled(&both), Outcome::Denied);
    assert!(both.about("c2").current().phase.is_running());
}

#[test]
fn a_refusal_says_whether_another_answer_may_count() {
    assert!(Rejection::EditsNotAllowed.leaves_open());
    assert!(
        !Rejection::RequestExpired {
            at: Seq(9),
            goes_on: false
        }
        .leaves_open()
    );
}

fn question(effect: &Effect) -> Option<Seq> {
    match effect {
        Effect::AskConfirmation { request, .. } => Some(*request),
        Effect::RunTool { .. }
        | Effect::AskHook { .. }
        | Effect::SendResponse { .. }
        | Effect::SendInstruction { .. }
        | Effect::CloseSession { .. }
        | Effect::Connect
        | Effect::ArmTimer { .. } => None,
    }
}

#[test]
fn first_of_many_answers_counts_and_others_learn_it() {
    let asked = asked();
    let request = asked.request();
    let mut granted = asked.granted("ada");
    let at = granted.facts()[6].seq;
    let counted = Answered {
        at,
        confirmed: true,
        found: None,
        by: Actor::embedder("ada"),
    };
    for n in 0..64 {
        let answer = answer_to(request, n % 2 == 0, None, "bob");
        assert_eq!(
            granted.rejection(answer),
            Rejection::AlreadyAnswered(counted.clone())
        );
        granted = granted.later(1);
    }
    assert_eq!(granted.attempt(), 1);
}

#[test]
fn approval_after_denial_is_rejected_with_the_denial() {
    let request = asked().request();
    let denied = asked().denied("ada", None);
    let rejection = denied.rejection(answer_to(request, true, None, "bob"));
    assert_eq!(
        rejection.to_string(),
        "it was denied by ada before, at seq 7"
    );
}

#[test]
fn refused_answers_are_recorded_up_to_a_limit() {
    let request = asked().request();
    let mut denied = asked().denied("ada", None);
    let by = Actor::embedder("bob");
    let mut recorded = Vec::new();
    for _ in 0..20 {
        let rejection = denied.rejection(answer_to(request, true, None, "bob"));
        if let Some(refused) = refusal_on_record(denied.session(), request, &by, &rejection) {
            denied = denied.observed(refused.clone());
            recorded.push(refused);
        }
    }
    let last = |it: &Observation| matches!(it, Observation::AnswerRefused(it) if it.last_recorded);
    assert_eq!(recorded.len(), REFUSALS_RECORDED_MAX as usize + 1);
    assert_eq!(
        recorded.iter().position(last),
        Some(REFUSALS_RECORDED_MAX as usize)
    );
}

#[test]
fn an_unknown_request_and_the_call_itself_take_no_answer() {
    let asked = asked();
    for request in [asked.call_seq(), Seq(999)] {
        let rejection = asked.rejection(answer_to(request, true, None, "ada"));
        assert_eq!(rejection, Rejection::UnknownRequest { request });
    }
}

#[test]
fn a_response_for_a_call_that_a_person_decides_is_refused() {
    let asked = asked();
    let (call, name) = (asked.call_seq(), "pay".to_owned());
    let (response, by) = (Json::empty_object(), Actor::embedder("eve"));
    let supply = Command::SupplyResponse {
        call,
        name,
        response,
        will_continue: false,
        by,
    };
    let phase = "awaiting_confirmation";
    assert_eq!(
        asked.rejection(supply),
        Rejection::CallNotPaused { call, phase }
    );
}

#[test]
fn request_expires_by_recorded_clock_and_rejects_late_answer() {
    let request = asked().request();
    let expired = asked().timed_out();
    assert_eq!(settled(&expired), Outcome::Expired);
    let at = expired.facts()[7].seq;
    let late = answer_to(request, true, None, "ada");
    let goes_on = false;
    assert_eq!(
        expired.rejection(late),
        Rejection::RequestExpired { at, goes_on }
    );
}

#[test]
fn unrecorded_expiry_is_overdue() {
    let asked = asked();
    let due_us = asked.now().after_ms(60_000);
    let (call, request) = (asked.call_seq(), asked.request());
    let deadline = Deadline::Confirmation { call, request };
    assert_eq!(overdue(asked.session(), Timestamp(due_us.0 - 1)), []);
    assert_eq!(
        overdue(asked.session(), due_us),
        [DeadlinePassed { deadline, due_us }.into()]
    );
}

#[test]
fn request_survives_turns_reconnects_and_restarts() {
    let asked = asked();
    let (epoch, request) = (asked.epoch(), asked.request());
    let later = asked
        .observed(UserTextSent {
            epoch,
            text: "well?".to_owned(),
        })
        .observed(TurnInterrupted { epoch })
        .heard()
        .disconnected()
        .detached()
        .attached(&tools())
        .connected();
    assert_eq!(later.request(), request);
}

#[test]
fn request_survives_cancellation_by_model_and_shows_it() {
    let disowned = asked().taken_back("c1");
    assert!(disowned.current().model_lost_interest);
    let (call, request) = (disowned.call_seq(), disowned.request());
    let open = open_work(disowned.session());
    let item = open.iter().find(|(seq, _)| *seq == call);
    assert!(item.is_some_and(|(_, item)| item.model_lost_interest));
    let paid = disowned.granted("ada").started();
    let route = Route::Conversation {
        epoch: paid.epoch(),
    };
    let of = Some(paid.session().head.next());
    given(&paid)
        .when(paid.tool_returned(false, &json!({})))
        .then([ResponseIssued {
            call,
            outcome: Outcome::Returned,
            of,
            response: None,
            route,
        }
        .into()]);
    assert!(paid.session().requests.contains_key(&request));
}

#[test]
fn withdraw_on_cancel_lets_model_withdraw_request() {
    let careful = tools().withdraw_on_cancel("pay");
    let asked = support()
        .attached(&careful)
        .call("c1", "pay", json!({}))
        .asked();
    let request = asked.request();
    let (ids, epoch) = (vec!["c1".to_owned()], asked.epoch());
    given(&asked)
        .when(CallCancellationReceived { epoch, ids })
        .then_kinds(["confirmation_withdrawn", "call_cancelled"])
        .owing([]);
    let withdrawn = asked.taken_back("c1");
    let rejection = withdrawn.rejection(answer_to(request, true, None, "ada"));
    assert_eq!(rejection.code(), "request_withdrawn");
}

#[test]
fn changed_contract_reopens_and_old_request_names_new_one() {
    let before = asked();
    let changed = before.clone().attached(&tools().changed("pay"));
    assert_eq!(changed.kinds().last(), Some(&"confirmation_reopened"));
    let by = changed.request();
    let old = answer_to(before.request(), true, None, "ada");
    assert_eq!(changed.rejection(old), Rejection::RequestSuperseded { by });
    assert_eq!(
        settled(&changed.granted("ada").returned(json!({}))),
        Outcome::Returned
    );
}

#[test]
fn changed_contract_voids_unused_approval() {
    let waiting = support()
        .detached()
        .call("c1", "pay", json!({}))
        .granted("ada");
    let changed = waiting.attached(&tools().changed("pay"));
    assert!(!changed.kinds().contains(&"call_started"));
    let started = changed.asked().granted("ada").started();
    assert_eq!(started.attempt(), 1);
}

#[test]
fn reworded_description_keeps_request_open() {
    let before = asked();
    let reworded = before.clone().attached(&tools().reworded("pay"));
    assert_eq!(reworded.request(), before.request());
}

#[test]
fn approval_needs_declared_tool_and_denial_does_not() {
    let gone = asked().attached(&tools().without("pay"));
    let tool = "pay".to_owned();
    let yes = answer_to(gone.request(), true, None, "ada");
    assert_eq!(
        admit(gone.session(), yes),
        Err(Rejection::ToolGone { tool })
    );
    let back = gone.clone().attached(&tools()).granted("ada");
    assert_eq!(back.started().attempt(), 1);
    assert_eq!(settled(&gone.denied("ada", None)), Outcome::Denied);
}

#[test]
fn approval_without_runner_waits_for_a_runner_with_the_tool() {
    let approved = asked().detached().granted("ada");
    let gone = approved.attached(&tools().without("pay"));
    assert!(!gone.kinds().contains(&"call_started"));
    assert_eq!(gone.attached(&tools()).started().attempt(), 1);
}

#[test]
fn gate_declared_after_verdict_still_holds() {
    let waiting = support().detached().call("c1", "look", json!({}));
    let gated = waiting.attached(&tools().gated("look")).asked();
    assert_eq!(settled(&gated.denied("ada", None)), Outcome::Denied);
}

#[test]
fn new_gate_on_call_in_doubt_asks_about_rerun() {
    let tools = tools().in_doubt("look", InDoubt::Retry);
    let cut_off = support()
        .attached(&tools)
        .call("c1", "look", json!({}))
        .started()
        .detached();
    let asked = cut_off.attached(&tools.gated("look")).asked();
    let denied = asked.denied("ada", None);
    assert_eq!(settled(&denied), Outcome::Unknown);
    assert_eq!(last_response(&denied)["kind"], "unknown_outcome");
}

#[test]
fn waived_gate_records_its_reason() {
    let open = support().attached(&tools().gates_waived("no durable journal"));
    let call = open.session().head.next();
    let running = open.call("c1", "pay", json!({})).started();
    let waived = GateWaived {
        call,
        reason: "no durable journal".to_owned(),
        unanswered: None,
    };
    let waived = Event::Decided(waived.into());
    assert!(running.facts().iter().any(|fact| fact.event == waived));
}

#[test]
fn failed_run_uses_up_its_approval() {
    let request = asked().request();
    let failed = asked().granted("ada").failed(json!({"error": "no funds"}));
    assert_eq!(settled(&failed), Outcome::Failed);
    let again = failed.rejection(answer_to(request, true, None, "ada"));
    assert_eq!(again.code(), "already_answered");
}

#[test]
fn gated_long_running_call_starts_once_and_is_settled_later() {
    let ordered = support()
        .call("c1", "order", json!({}))
        .asked()
        .granted("ada")
        .started()
        .paused(None);
    let supplied = ordered.supplied(json!({"shipped": true}));
    assert_eq!(settled(&supplied), Outcome::Supplied);
    assert_eq!(supplied.session().settled[&supplied.call_seq()].attempts, 1);
}

#[test]
fn recorded_answer_to_closed_request_changes_nothing() {
    let request = asked().request();
    let other = ConfirmationAnswered {
        request,
        confirmed: false,
        reason: None,
        payload: None,
        edited_args: None,
        extra: None,
        found: None,
        allow_for: None,
        by: Actor::embedder("mallory"),
    };
    for over in [
        asked().granted("ada").started(),
        asked().timed_out(),
        asked().attached(&tools().changed("pay")),
    ] {
        let before = over.session().requests[&request].state.clone();
        let still = over.observed(other.clone());
        assert_eq!(still.session().requests[&request].state, before);
    }
}

#[test]
fn deadline_of_superseded_request_does_not_expire_new_one() {
    let before = asked();
    let deadline = Deadline::Confirmation {
        call: before.call_seq(),
        request: before.request(),
    };
    let anew = before.later(30_000).attached(&tools().changed("pay"));
    let due_us = anew.now();
    given(&anew)
        .when(DeadlinePassed { deadline, due_us })
        .then_nothing();
}
