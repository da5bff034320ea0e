use serde_json::json;

use crate::testing::{History, Toolbox, history, toolbox};
use crate::{
    Actor, CallClaimed, ClaimAction, ClaimCommand, ClaimEnded, ClaimRejection, ClaimState, Command,
    Deadline, DeadlinePassed, Effect, Event, Finding, InDoubt, Json, LeaseRenewed, Observation,
    OpenKind, Outcome, OutcomeFound, Phase, Rejection, RunnerDetached, Seq, Timestamp, open_work,
    rules_needed,
};

pub(super) fn tools(rule: InDoubt) -> Toolbox {
    toolbox().at_client("pack").in_doubt("pack", rule)
}

pub(super) fn ready(rule: InDoubt) -> History {
    let begun = history().opened("shop").attached(&tools(rule)).connected();
    begun.call("c1", "pack", json!({"n": 1}))
}

pub(super) fn held(rule: InDoubt) -> History {
    ready(rule).claimed("w1", 60_000)
}

pub(super) fn done(history: &History, attempt: u32, claim: &str) -> Command {
    let request = ClaimAction::Return {
        name: "pack".to_owned(),
        response: Json::of(&json!({"packed": 4})),
        failed: None,
    };
    asks(history, attempt, claim, request)
}

pub(super) fn asks(history: &History, attempt: u32, claim: &str, action: ClaimAction) -> Command {
    Command::Claim(ClaimCommand {
        call: history.call_seq(),
        attempt: Some(attempt),
        claim: claim.to_owned(),
        by: Actor::embedder("warehouse"),
        action,
    })
}

pub(super) fn refused(history: &History, command: Command) -> &'static str {
    history.rejection(command).code()
}

fn outcome(history: &History) -> Option<Outcome> {
    let settled = history.session().settled.get(&history.call_seq());
    settled.map(|it| it.outcome)
}

#[test]
fn call_of_a_client_stays_ready_until_it_is_claimed() {
    let ready = ready(InDoubt::SettleUnknown);
    assert_eq!(ready.kinds().last(), Some(&"call_ready"));
    let kind = open_work(ready.session()).pop().map(|(_, it)| it.kind);
    assert_eq!(kind, Some(OpenKind::Claimable));
    let claimed = ready.claimed("w1", 60_000);
    assert_eq!(
        claimed.kinds()[claimed.kinds().len() - 2..],
        ["call_claimed", "call_started"]
    );
    let returned = claimed.clone().commanded(done(&claimed, 1, "w1"));
    assert_eq!(outcome(&returned), Some(Outcome::Returned));
}

#[test]
fn claim_needs_no_runner_and_no_slot() {
    let tools = tools(InDoubt::Ask).plain("look").running_max(1);
    let begun = history().opened("shop").attached(&tools).connected();
    let looks = begun.call("c1", "look", json!({})).started();
    let both = looks.call("c2", "pack", json!({})).claimed("w1", 60_000);
    assert_eq!(both.session().running(), 1);
    let detached = ready(InDoubt::Ask).detached().claimed("w1", 60_000);
    assert!(detached.current().phase.is_running());
}

#[test]
fn only_the_lease_puts_a_clients_run_in_doubt() {
    let held = held(InDoubt::Ask);
    let attempt = 1;
    let call = held.call_seq();
    let not_begun = vec![crate::Start { call, attempt }];
    let reason = "shutdown".to_owned();
    let gone = held.clone().observed(RunnerDetached { reason, not_begun });
    let other = gone.clone().attached(&toolbox().plain("look"));
    for history in [held.clone().detached(), gone, other] {
        assert_eq!(
            history.current().phase.name(),
            "running",
            "{:?}",
            history.kinds()
        );
        let starts = history.kinds().into_iter();
        assert_eq!(starts.filter(|it| *it == "call_started").count(), 1);
    }
    let passed = held.clone().timed_out();
    assert!(
        passed
            .kinds()
            .ends_with(&["deadline_passed", "confirmation_requested"])
    );
    let ended = held.clone().commanded(asks(&held, 1, "w1", ends(false)));
    assert!(
        ended
            .kinds()
            .ends_with(&["claim_ended", "confirmation_requested"])
    );
}

pub(super) fn ends(not_begun: bool) -> ClaimAction {
    let reason = None;
    ClaimAction::End { reason, not_begun }
}

#[test]
fn owed_timers_are_the_lease_and_the_time_limit() {
    let tools = tools(InDoubt::Ask).timeout_ms("pack", 5_000);
    let begun = history().opened("shop").attached(&tools).connected();
    let held = begun.call("c1", "pack", json!({})).claimed("w1", 60_000);
    let (call, attempt, now) = (held.call_seq(), 1, held.now());
    let due = |deadline, ms| Effect::ArmTimer {
        deadline,
        due_us: now.after_ms(ms),
    };
    let timers = [
        due(Deadline::Run { call, attempt }, 5_000),
        due(Deadline::Lease { call, attempt }, 60_000),
    ];
    assert_eq!(crate::owed(held.session()), timers);
    let index = open_work(held.session())
        .pop()
        .map(|(_, it)| (it.kind, it.deadline));
    assert_eq!(index, Some((OpenKind::Claimed, Some(now.after_ms(5_000)))));
}

#[test]
fn lease_is_renewed_by_its_holder_and_never_shortened() {
    let held = held(InDoubt::Ask);
    let until = |ms: u64| ClaimAction::Renew {
        until_us: held.now().after_ms(ms),
    };
    let lease = |it: &History| it.current().claim.as_ref().unwrap().until;
    let longer = held.clone().commanded(asks(&held, 1, "w1", until(90_000)));
    assert_eq!(lease(&longer), held.now().after_ms(90_000));
    let shorter = longer.clone().commanded(asks(&held, 1, "w1", until(1_000)));
    assert_eq!(lease(&shorter), lease(&longer));
    // The record has the end that is in force, which the client gets as the answer.
    let last = shorter.facts().last().map(|it| &it.event);
    let is_longer = |it: &LeaseRenewed| it.until_us == lease(&longer);
    assert!(
        matches!(last, Some(Event::Observed(Observation::LeaseRenewed(it))) if is_longer(it)),
        "{last:?}"
    );
    // The deadline of the first lease has no effect any more.
    let (call, attempt) = (held.call_seq(), 1);
    let stale = longer.later(60_000).observed(DeadlinePassed {
        deadline: Deadline::Lease { call, attempt },
        due_us: held.now().after_ms(60_000),
    });
    assert!(stale.current().phase.is_running());
    assert_eq!(
        refused(&held, asks(&held, 1, "w2", until(90_000))),
        "not_the_holder"
    );
    assert_eq!(
        refused(&held, asks(&held, 2, "w1", until(90_000))),
        "stale_attempt"
    );
    let mut stranger = asks(&held, 1, "w1", until(90_000));
    if let Command::Claim(it) = &mut stranger {
        it.by = Actor::embedder("mallory");
    }
    assert_eq!(refused(&held, stranger), "not_the_holder");
}

#[test]
fn second_claim_learns_who_holds_the_call() {
    let held = held(InDoubt::Ask);
    let until_us = held.now().after_ms(1_000);
    let second = asks(&held, 2, "w2", ClaimAction::Claim { until_us });
    let expected = ClaimRejection::AlreadyClaimed {
        call: held.call_seq(),
        attempt: 1,
        by: Actor::embedder("warehouse"),
        until: held.now().after_ms(60_000),
    };
    assert_eq!(held.rejection(second), Rejection::Claim(expected));
}

#[test]
fn call_given_back_before_it_began_is_not_in_doubt() {
    let held = held(InDoubt::Ask);
    let given_back = held.clone().commanded(asks(&held, 1, "w1", ends(true)));
    assert!(matches!(given_back.current().phase, Phase::Ready { .. }));
    // The next claim is another start, so the first client cannot report for it.
    let next = given_back.claimed("w2", 60_000);
    assert_eq!(next.attempt(), 2);
    assert_eq!(refused(&next, done(&next, 1, "w1")), "stale_attempt");
    assert_eq!(next.current().begun(), 1);
}

#[test]
fn result_after_the_lease_withdraws_the_question() {
    let passed = held(InDoubt::Ask).timed_out();
    let late = passed.clone().commanded(done(&passed, 1, "w1"));
    let expected = ["outcome_found", "confirmation_withdrawn", "response_issued"];
    assert!(late.kinds().ends_with(&expected), "{:?}", late.kinds());
    assert_eq!(outcome(&late), Some(Outcome::Supplied));
}

#[test]
fn result_after_an_unknown_end_is_reconciled() {
    let passed = held(InDoubt::SettleUnknown).timed_out();
    assert_eq!(outcome(&passed), Some(Outcome::Unknown));
    assert_eq!(refused(&passed, done(&passed, 1, "w9")), "call_settled");
    let late = passed.clone().commanded(done(&passed, 1, "w1"));
    assert!(
        late.kinds()
            .ends_with(&["outcome_found", "outcome_reconciled"])
    );
    assert_eq!(refused(&late, done(&late, 1, "w1")), "call_settled");
}

#[test]
fn result_of_an_older_start_is_refused_once_claimed_again() {
    let passed = held(InDoubt::Retry).timed_out();
    assert_eq!(passed.current().phase.name(), "in_doubt");
    let kind = open_work(passed.session()).pop().map(|(_, it)| it.kind);
    assert_eq!(kind, Some(OpenKind::Claimable));
    // Nothing has decided the outcome while the call is only offered.
    let late = passed.clone().commanded(done(&passed, 1, "w1"));
    assert_eq!(outcome(&late), Some(Outcome::Supplied));
    let again = passed.claimed("w2", 60_000);
    assert_eq!(again.attempt(), 2);
    assert_eq!(refused(&again, done(&again, 1, "w1")), "stale_attempt");
    let returned = again.clone().commanded(done(&again, 2, "w2"));
    assert_eq!(outcome(&returned), Some(Outcome::Returned));
}

#[test]
fn gated_call_is_claimed_only_after_the_approval() {
    let tools = toolbox()
        .gated("pack")
        .kind("pack", crate::catalog::ToolKind::Client);
    let begun = history().opened("shop").attached(&tools).connected();
    let asked = begun.call("c1", "pack", json!({})).asked();
    let until_us = asked.now().after_ms(60_000);
    let claim = asks(&asked, 1, "w1", ClaimAction::Claim { until_us });
    assert_eq!(refused(&asked, claim.clone()), "call_not_ready");
    let granted = asked.detached().granted("ada");
    assert_eq!(granted.current().phase.name(), "ready");
    // Without a runner, another contract is known from its attachment only.
    let changed = granted.clone().attached(&tools.changed("pack"));
    assert_eq!(changed.kinds().last(), Some(&"confirmation_reopened"));
    assert!(granted.commanded(claim).current().phase.is_running());
}

#[test]
fn cancelled_call_refuses_its_client() {
    let held = held(InDoubt::Ask);
    let cancelled = held.cancelled();
    let until_us = cancelled.now().after_ms(60_000);
    let renew = asks(&cancelled, 1, "w1", ClaimAction::Renew { until_us });
    assert_eq!(refused(&cancelled, renew), "call_settled");
    assert_eq!(
        refused(&cancelled, done(&cancelled, 1, "w1")),
        "call_settled"
    );
}

#[test]
fn run_at_a_client_yields_and_reports_like_any_other() {
    let held = held(InDoubt::Ask);
    let response = Json::of(&json!({"packed": 1}));
    let yields = held
        .clone()
        .commanded(asks(&held, 1, "w1", ClaimAction::Yield { response }));
    assert!(
        yields
            .kinds()
            .ends_with(&["tool_yielded", "response_issued"])
    );
    let (name, data) = ("boxed".to_owned(), Json::empty_object());
    let reports =
        yields
            .clone()
            .commanded(asks(&yields, 1, "w1", ClaimAction::Report { name, data }));
    assert_eq!(reports.kinds().last(), Some(&"tool_event_emitted"));
    assert_eq!(refused(&reports, done(&reports, 1, "w2")), "not_the_holder");
}

#[test]
fn claim_id_must_fit_a_record() {
    let ready = ready(InDoubt::Ask);
    let until_us = ready.now().after_ms(60_000);
    for id in ["", "a\nb", &"x".repeat(201)] {
        let claim = asks(&ready, 1, id, ClaimAction::Claim { until_us });
        assert_eq!(refused(&ready, claim), "unfit_claim");
    }
    let plain = history()
        .opened("shop")
        .attached(&toolbox().plain("look"))
        .connected();
    let looks = plain.call("c1", "look", json!({})).started();
    let claim = asks(&looks, 2, "w1", ClaimAction::Claim { until_us });
    assert_eq!(refused(&looks, claim), "not_for_clients");
}

#[test]
fn catalog_with_a_client_run_tool_needs_rules_2() {
    let with = tools(InDoubt::Ask);
    assert_eq!(rules_needed(with.catalog(), with.policies()), 2);
    let without = toolbox().plain("pack");
    assert_eq!(rules_needed(without.catalog(), without.policies()), 1);
    let contract = |tools: &Toolbox| {
        let declared = tools.catalog().get("pack").unwrap();
        crate::catalog::contract_hash(declared, tools.policies().of("pack"))
    };
    let plain = toolbox().plain("pack").in_doubt("pack", InDoubt::Ask);
    assert_ne!(contract(&with), contract(&plain));
}

#[test]
fn outcome_without_a_lapsed_claim_changes_nothing() {
    let tools = toolbox().at_client("pack").retried("pack", 3, 10);
    let begun = history().opened("shop").attached(&tools).connected();
    let held = begun.call("c1", "pack", json!({})).claimed("w1", 60_000);
    let failed = held.failed(json!({"error": "jam"}));
    assert_eq!(failed.current().phase.name(), "retrying");
    let found = OutcomeFound {
        call: failed.call_seq(),
        tool: "pack".to_owned(),
        found: Finding::failed("jam"),
        by: Actor::embedder("warehouse"),
        attempt: Some(1),
    };
    let after = failed.clone().observed(found.clone());
    assert_eq!(after.current(), failed.current());
    assert_eq!(refused(&failed, done(&failed, 1, "w1")), "claim_ended");
    let due = failed.timed_out();
    assert_eq!(due.clone().observed(found).current(), due.current());
}

#[test]
fn late_result_of_another_start_does_not_reconcile() {
    let passed = held(InDoubt::SettleUnknown).timed_out();
    assert_eq!(outcome(&passed), Some(Outcome::Unknown));
    let found = |of: &History, attempt| OutcomeFound {
        call: of.call_seq(),
        tool: "pack".to_owned(),
        found: Finding::failed("jam"),
        by: Actor::embedder("warehouse"),
        attempt: Some(attempt),
    };
    let reconciled = |of: &History, attempt| {
        let after = of.clone().observed(found(of, attempt));
        after.kinds().last() == Some(&"outcome_reconciled")
    };
    assert!(!reconciled(&passed, 2) && reconciled(&passed, 1));
    // The second start is at a runner, and ends with an unknown outcome.
    let again = held(InDoubt::Retry).timed_out();
    let at_runner = |rule| toolbox().plain("pack").in_doubt("pack", rule);
    let ran = again.attached(&at_runner(InDoubt::Retry));
    assert_eq!(ran.current().attempts, 2);
    let ended = ran.attached(&at_runner(InDoubt::SettleUnknown));
    assert_eq!(outcome(&ended), Some(Outcome::Unknown));
    assert!(!reconciled(&ended, 1) && !reconciled(&ended, 2));
}

#[test]
fn recorded_claim_of_a_call_that_cannot_start_changes_nothing() {
    let tools = toolbox()
        .gated("pack")
        .kind("pack", crate::catalog::ToolKind::Client);
    let begun = history().opened("shop").attached(&tools).connected();
    let asked = begun.call("c1", "pack", json!({})).asked();
    let claimed = CallClaimed {
        call: asked.call_seq(),
        attempt: 1,
        claim: "w1".to_owned(),
        by: Actor::embedder("warehouse"),
        until_us: asked.now().after_ms(60_000),
        rules: 2,
    };
    let after = asked.clone().observed(claimed.clone());
    assert_eq!(after.current(), asked.current());
    let stale = CallClaimed {
        attempt: 2,
        ..claimed
    };
    let ready = ready(InDoubt::Ask);
    assert_eq!(ready.clone().observed(stale).current(), ready.current());
}

#[test]
fn records_of_another_claim_change_nothing() {
    let held = held(InDoubt::Ask);
    let ended = |attempt, claim: &str| ClaimEnded {
        call: held.call_seq(),
        attempt,
        claim: claim.to_owned(),
        reason: None,
        not_begun: true,
        by: Actor::embedder("warehouse"),
        rules: 2,
    };
    for strange in [ended(2, "w1"), ended(1, "w2")] {
        let after = held.clone().observed(strange);
        assert_eq!(
            after.current().claim.as_ref().unwrap().state,
            ClaimState::Held
        );
    }
    let lost = Seq(99);
    let due = DeadlinePassed {
        deadline: Deadline::Lease {
            call: lost,
            attempt: 1,
        },
        due_us: Timestamp(0),
    };
    assert!(held.observed(due).current().phase.is_running());
}
