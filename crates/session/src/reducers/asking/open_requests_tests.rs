use std::time::Duration;

use serde_json::json;

use crate::testing::{History, Toolbox, given, history, toolbox};
use crate::*;

fn with(tools: &Toolbox) -> History {
    history().opened("support").attached(tools).connected()
}

fn pay(history: History, n: u32) -> History {
    history.call(&format!("c{n}"), "pay", json!({"n": n}))
}

/// Returns the verdicts on the current call, with their inputs.
fn verdicts(history: &History) -> Vec<(Verdict, Rule, Option<String>)> {
    let of_call = |fact: &Fact| match &fact.event {
        Event::Decided(Decision::PolicyDecided(it)) if it.call == history.call_seq() => {
            let inputs = it.inputs.as_ref().map(ToString::to_string);
            Some((it.verdict, it.rule, inputs))
        }
        Event::Decided(_) | Event::Observed(_) => None,
    };
    history.facts().iter().filter_map(of_call).collect()
}

fn open(session: u32, tool: u32) -> Option<String> {
    Some(format!(
        r#"{{"open_requests":{{"session":{session},"tool":{tool}}}}}"#
    ))
}

fn response(history: &History) -> Option<serde_json::Value> {
    match history.facts().last().map(|fact| &fact.event) {
        Some(Event::Decided(Decision::ResponseIssued(it))) => {
            it.response.as_ref().map(Json::to_value)
        }
        Some(Event::Decided(_) | Event::Observed(_)) | None => None,
    }
}

fn limited(max: u32) -> Toolbox {
    let limit = |policy: &mut ToolPolicy| policy.gate_terms.max_open_requests = Some(max);
    toolbox().gated("pay").policy("pay", limit)
}

#[test]
fn call_beyond_the_limit_of_its_tool_is_refused() {
    let asked = pay(pay(with(&limited(2)), 1), 2);
    assert_eq!(
        verdicts(&asked),
        [(Verdict::Ask, Rule::Confirm, open(1, 1))]
    );
    let third = pay(asked.clone(), 3);
    assert_eq!(
        verdicts(&third),
        [(Verdict::Refused, Rule::Limit, open(2, 2))]
    );
    let error = json!({
        "error": "2 calls of \"pay\" may wait for approval at the same time, and do; \
                  it did not run",
        "kind": "limit_reached",
    });
    assert_eq!(response(&third), Some(error));
    // An answer makes room, and the refused call is not asked about later.
    let denied = asked.denied("ada", None);
    let fourth = pay(denied, 4);
    assert_eq!(
        verdicts(&fourth),
        [(Verdict::Ask, Rule::Confirm, open(1, 1))]
    );
}

#[test]
fn session_limit_counts_requests_of_all_tools() {
    let tools = toolbox().gated("pay").gated("order").plain("look");
    let asked = pay(with(&tools.max_open_requests(1)), 1);
    let order = asked.call("c2", "order", json!({}));
    assert_eq!(
        verdicts(&order),
        [(Verdict::Refused, Rule::Limit, open(1, 0))]
    );
    let error = json!({
        "error": "1 calls may wait for approval at the same time, and do; it did not run",
        "kind": "limit_reached",
    });
    assert_eq!(response(&order), Some(error));
    // A tool without a gate is not limited.
    let look = order.call("c3", "look", json!({}));
    assert_eq!(verdicts(&look), [(Verdict::Allowed, Rule::Default, None)]);
}

#[test]
fn refused_call_does_not_count_towards_other_limits() {
    let asked = pay(with(&limited(1).per_session("pay", 2)), 1);
    let refused = pay(asked, 2).about("c1").denied("ada", None);
    let third = pay(refused, 3);
    let inputs = r#"{"used":{"session":1,"minute":0},"open_requests":{"session":0,"tool":0}}"#;
    assert_eq!(
        verdicts(&third),
        [(Verdict::Ask, Rule::Confirm, Some(inputs.to_owned()))]
    );
}

#[test]
fn limit_needs_enforced_gates() {
    let calls = pay(pay(with(&limited(1).gates_waived("a test")), 1), 2);
    assert_eq!(verdicts(&calls), [(Verdict::Ask, Rule::Confirm, None)]);
    assert_eq!(calls.session().calls.len(), 2);
    assert_eq!(calls.session().running(), 2);
}

#[test]
fn gate_of_the_program_is_refused_when_it_closes() {
    let tools = limited(1).gated_by_program("pay");
    let verdict = |history: &History| HookAnswered {
        hook: Hook::ConfirmWhen,
        call: history.call_seq(),
        of: None,
        response: None,
        failure: None,
        gated: Some(true),
        by: None,
    };
    let first = pay(with(&tools), 1);
    let second = pay(first.clone(), 2);
    let asked = second.observed(verdict(&first));
    let closed = asked.about("c2");
    given(&closed)
        .when(verdict(&closed))
        .then_kinds(["policy_decided", "response_issued"]);
    let refused = closed.clone().observed(verdict(&closed));
    let late = (Verdict::Refused, Rule::Limit, open(1, 1));
    let first = (Verdict::AskProgram, Rule::Confirm, open(0, 0));
    assert_eq!(verdicts(&refused), [first, late]);
    // The other request stays open.
    assert_eq!(refused.session().calls.len(), 1);
}

#[test]
fn call_in_doubt_is_asked_about_beyond_the_limit() {
    let limit = |policy: &mut ToolPolicy| policy.gate_terms.max_open_requests = Some(1);
    let tools = toolbox().plain("order").in_doubt("order", InDoubt::Ask);
    let tools = tools.gated("pay").max_open_requests(1).policy("pay", limit);
    let started = pay(with(&tools), 1).call("c2", "order", json!({}));
    let doubt = started.detached().attached(&tools);
    let request = doubt.session().calls.values().filter(|it| {
        matches!(
            it.phase,
            Phase::AwaitingConfirmation {
                about: About::InDoubt,
                ..
            }
        )
    });
    assert_eq!(request.count(), 1);
    // It counts: nothing else may be asked until one of both is answered.
    let third = pay(doubt.disconnected().connected(), 3);
    assert_eq!(
        verdicts(&third),
        [(Verdict::Refused, Rule::Limit, open(2, 1))]
    );
}

#[test]
fn question_of_a_tool_is_asked_beyond_the_limit() {
    let tools = limited(1).plain("order").max_open_requests(1);
    let asks = pay(with(&tools), 1)
        .call("c2", "order", json!({}))
        .asks("Which one?");
    assert_eq!(asks.kinds().last(), Some(&"confirmation_requested"));
}

#[test]
fn reopened_request_keeps_its_place() {
    let two = pay(pay(with(&limited(2)), 1), 2);
    let stricter = limited(1).changed("pay");
    let reopened = two.attached(&stricter);
    assert_eq!(
        reopened.kinds().iter().rev().take(2).collect::<Vec<_>>(),
        [&"confirmation_reopened", &"confirmation_reopened"]
    );
    assert_eq!(reopened.session().calls.len(), 2);
}

#[test]
fn edited_call_is_asked_anew_beyond_a_lowered_limit() {
    let anew = |max| {
        limited(max).policy("pay", |policy| {
            policy.gate_terms.edits = Some(Edits::ApprovedAnew)
        })
    };
    let asked = pay(pay(with(&anew(2)), 1), 2).attached(&anew(1));
    let edited = Command::AnswerConfirmation {
        request: asked.request(),
        answer: Ok(ToolConfirmation::confirmed().with_args(json!({"n": 9}))),
        by: Actor::embedder("ada"),
    };
    given(&asked)
        .when_asked(edited)
        .then_kinds(["confirmation_requested"]);
}

#[test]
fn limit_of_open_requests_needs_rules_2() {
    let needed = |tools: &Toolbox| rules_needed(tools.catalog(), tools.policies());
    assert_eq!(needed(&toolbox().gated("pay")), 1);
    assert_eq!(needed(&limited(3)), 2);
    assert_eq!(needed(&toolbox().gated("pay").max_open_requests(3)), 2);
    assert_eq!(needed(&toolbox().gated("pay").answers_per_minute(3)), 2);
    let no_gate = limited(3).policy("pay", |policy| policy.confirm = false);
    assert_eq!(needed(&no_gate), 1);
}

/// Asks as many times as the person says yes in the test.
fn asked(tools: &Toolbox, calls: u32) -> History {
    (1..=calls).fold(with(tools), pay)
}

fn said(history: &History, id: &str, confirmed: bool, by: Actor) -> Command {
    Command::AnswerConfirmation {
        request: history.clone().about(id).request(),
        answer: Ok(match confirmed {
            true => ToolConfirmation::confirmed(),
            false => ToolConfirmation::denied("no"),
        }),
        by,
    }
}

fn yes(history: History, id: &str, by: &str) -> History {
    let command = said(&history, id, true, Actor::embedder(by));
    history.commanded(command)
}

#[test]
fn approval_beyond_the_limit_of_a_minute_is_rejected() {
    let two = yes(
        asked(&toolbox().gated("pay").answers_per_minute(2), 4),
        "c1",
        "ada",
    );
    let two = yes(two.later(40_000), "c2", "ada");
    let third = said(&two, "c3", true, Actor::embedder("ada"));
    let rejected = two.rejection(third.clone());
    assert_eq!(rejected, Rejection::TooManyAnswers { max: 2 });
    assert_eq!(rejected.code(), "too_many_answers");
    assert!(rejected.leaves_open());
    let (request, by) = (two.clone().about("c3").request(), Actor::embedder("ada"));
    let refused = refusal_on_record(two.session(), request, &by, &rejected);
    let Some(Observation::AnswerRefused(it)) = &refused else {
        unreachable!("a refused answer is recorded");
    };
    assert_eq!(it.refusal, "too_many_answers");
    // Another person may approve, and so may the same person once the first approval is old.
    let other = said(&two, "c3", true, Actor::embedder("bob"));
    assert_eq!(two.clone().commanded(other).session().running(), 3);
    let later = two.later(20_000).commanded(third);
    let fourth = said(&later, "c4", true, Actor::embedder("ada"));
    let max = Rejection::TooManyAnswers { max: 2 };
    assert_eq!(later.rejection(fourth), max);
}

#[test]
fn denial_is_not_limited_and_does_not_count() {
    let tools = toolbox().gated("pay").answers_per_minute(1);
    let denied = asked(&tools, 3);
    let no = said(&denied, "c1", false, Actor::embedder("ada"));
    let one = yes(denied.commanded(no), "c2", "ada");
    let no = said(&one, "c3", false, Actor::embedder("ada"));
    assert_eq!(one.commanded(no).session().calls.len(), 1);
}

#[test]
fn each_person_and_each_program_has_its_own_limit() {
    let tools = toolbox().gated("pay").answers_per_minute(1);
    let one = yes(asked(&tools, 2), "c1", "ada");
    let issued = Actor::token("ada").with_identity(Identity::of("https://login.example"));
    let person = Actor::embedder("ada").as_person();
    let allowed = |by: Actor| {
        let command = said(&one, "c2", true, by);
        admit_at(one.session(), one.now(), command).is_ok()
    };
    assert!(!allowed(Actor::embedder("ada")) && !allowed(person));
    assert!(allowed(issued) && allowed(Actor::os_user("ada")));
    let program = Actor::embedder("ada").as_program("nightly");
    assert!(allowed(program.clone()));
    let command = said(&one, "c2", true, program.clone());
    let both = pay(one.commanded(command), 3);
    let again = said(&both, "c3", true, program);
    let max = Rejection::TooManyAnswers { max: 1 };
    assert_eq!(both.rejection(again), max);
}

/// The minute is that of the records, so a clock that was set back counts no older approvals.
#[test]
fn minute_of_a_limit_is_of_recorded_time() {
    let tools = toolbox().gated("pay").answers_per_minute(1);
    let one = yes(asked(&tools, 2), "c1", "ada");
    let (given, minute_later) = (one.now(), pay(one.later(60_000), 3));
    let command = said(&minute_later, "c2", true, Actor::embedder("ada"));
    assert!(admit_at(minute_later.session(), given, command).is_ok());
}

#[test]
fn unverified_names_share_one_limit() {
    let tools = toolbox().gated("pay").answers_per_minute(1);
    let first = said(&asked(&tools, 2), "c1", true, Actor::unverified("eve"));
    let one = asked(&tools, 2).commanded(first);
    let max = Rejection::TooManyAnswers { max: 1 };
    for by in [
        Actor::unverified("mallory"),
        Actor::unverified("mallory").as_program("nightly"),
        Actor::embedder(""),
    ] {
        let again = said(&one, "c2", true, by);
        assert_eq!(one.rejection(again), max);
    }
}

#[test]
fn approvals_before_the_limit_was_declared_do_not_count() {
    let free = toolbox().gated("pay");
    let one = yes(asked(&free, 3), "c1", "ada").attached(&free.answers_per_minute(1));
    let two = yes(one, "c2", "ada");
    let third = said(&two, "c3", true, Actor::embedder("ada"));
    let max = Rejection::TooManyAnswers { max: 1 };
    assert_eq!(two.rejection(third), max);
}

#[test]
fn rejection_about_the_request_goes_before_the_limit() {
    let tools = toolbox().gated("pay").answers_per_minute(1);
    let one = yes(asked(&tools, 2), "c1", "ada");
    let again = answer_again(&one);
    assert!(matches!(
        one.rejection(again),
        Rejection::AlreadyAnswered(_)
    ));
    // A clock that goes back does not free the limit.
    let command = said(&one, "c2", true, Actor::embedder("ada"));
    let earlier = one.now().before_ms(3_600_000);
    let max = Rejection::TooManyAnswers { max: 1 };
    assert_eq!(admit_at(one.session(), earlier, command), Err(max));
}

fn answer_again(history: &History) -> Command {
    let request = history.session().requests.keys().next();
    let answer = ToolConfirmation::confirmed();
    Command::AnswerConfirmation {
        request: request.copied().unwrap_or(Seq(0)),
        answer: Ok(answer),
        by: Actor::embedder("ada"),
    }
}

#[test]
fn smaller_limit_of_two_policies_holds() {
    let limit = |max| {
        let terms = policy::GateTerms {
            max_open_requests: Some(max),
            expires_after: Some(Duration::from_secs(1)),
            ..policy::GateTerms::default()
        };
        ToolPolicy {
            gate_terms: terms.into(),
            ..ToolPolicy::gate("Pay?")
        }
    };
    let merged = limit(3).merged(limit(2));
    assert_eq!(merged.gate_terms.max_open_requests, Some(2));
}
