use super::tests::{asks, done, ends, held, ready, refused, tools};
use crate::testing::{History, toolbox};
use crate::{
    Actor, ClaimAction, ClaimRejection, Command, InDoubt, LeaseRenewed, PauseCommand, Rejection,
    Timestamp, admit, admit_at,
};

/// The session's time is ahead of a clock that was set back by two minutes. A claim and a renewal
/// hold for their whole length nevertheless.
#[test]
fn lease_holds_although_the_clock_went_back() {
    let ready = ready(InDoubt::Ask);
    let now = Timestamp(ready.session().at.0 - 120_000_000);
    let until_us = now.after_ms(60_000);
    let claim = asks(&ready, 1, "w1", ClaimAction::Claim { until_us });
    let admitted = admit_at(ready.session(), now, claim).unwrap();
    let held = ready.observed(admitted);
    let lease = |it: &History| it.current().claim.as_ref().unwrap().until;
    assert_eq!(lease(&held), held.session().at.after_ms(60_000));

    let later = now.after_ms(30_000);
    let until_us = later.after_ms(90_000);
    let renew = asks(&held, 1, "w1", ClaimAction::Renew { until_us });
    let admitted = admit_at(held.session(), later, renew).unwrap();
    let renewed = held.observed(admitted);
    assert_eq!(lease(&renewed), renewed.session().at.after_ms(90_000));
}

/// Without a number of the start, a request about a call that has ended learns how it ended.
#[test]
fn request_about_an_ended_call_learns_its_outcome() {
    let claimed = held(InDoubt::Ask);
    let ended = claimed.clone().commanded(done(&claimed, 1, "w1"));
    let without_number = |mut command: Command| {
        if let Command::Claim(it) = &mut command {
            it.attempt = None;
        }
        command
    };
    let gives_back = without_number(asks(&ended, 1, "w1", ends(true)));
    assert_eq!(refused(&ended, gives_back), "call_settled");
    // The lapsed claim of a call with an unknown outcome is of its newest start.
    let passed = held(InDoubt::SettleUnknown).timed_out();
    let late = passed
        .clone()
        .commanded(without_number(done(&passed, 1, "w1")));
    assert_eq!(late.kinds().last(), Some(&"outcome_reconciled"));
}

/// Admission refuses such a renewal. One that is on record nevertheless has no effect.
#[test]
fn renewal_of_a_stranger_or_after_the_lease_has_no_effect() {
    let held = held(InDoubt::Ask);
    let lease = |it: &History| it.current().claim.as_ref().unwrap().until;
    let renewal = |by: &str| LeaseRenewed {
        call: held.call_seq(),
        attempt: 1,
        claim: "w1".to_owned(),
        by: Actor::embedder(by),
        until_us: held.now().after_ms(90_000),
        rules: 2,
    };
    let strange = held.clone().observed(renewal("mallory"));
    let late = held.clone().later(60_000).observed(renewal("warehouse"));
    let in_time = held.clone().later(59_000).observed(renewal("warehouse"));
    assert_eq!(lease(&strange), lease(&held));
    assert_eq!(lease(&late), lease(&held));
    assert_eq!(lease(&in_time), held.now().after_ms(90_000));
}

#[test]
fn paused_call_cannot_be_claimed() {
    let pause = |tool: Option<&str>| {
        Command::Pause(PauseCommand {
            tool: tool.map(str::to_owned),
            reason: None,
            by: Actor::embedder("ada"),
        })
    };
    for ready in [
        ready(InDoubt::Ask),
        held(InDoubt::Retry).timed_out(),
        ready(InDoubt::Ask).detached(),
    ] {
        for tool in [None, Some("pack")] {
            let paused = ready.clone().commanded(pause(tool));
            let attempt = paused.current().attempts + 1;
            let until_us = paused.now().after_ms(60_000);
            let claim = asks(&paused, attempt, "w2", ClaimAction::Claim { until_us });
            let phase = "held by a pause";
            let call = paused.call_seq();
            let expected = ClaimRejection::NotReady { call, phase };
            assert_eq!(paused.rejection(claim.clone()), Rejection::Claim(expected));
            // A claim that is on record nevertheless starts nothing, now and later.
            let admitted = admit(ready.session(), claim).unwrap();
            let recorded = paused.observed(admitted);
            assert!(recorded.current().held_claim().is_none());
            assert!(!recorded.current().phase.is_running());
        }
    }
}

/// The tool moved from clients to the runner while the outcome of a client was in doubt.
#[test]
fn runner_start_ends_the_claim_of_the_start_before() {
    let passed = held(InDoubt::Retry).timed_out();
    let moved = toolbox().plain("pack").in_doubt("pack", InDoubt::Retry);
    let started = passed.clone().tools_changed(&moved);
    assert_eq!(
        (started.attempt(), started.current().claim.clone()),
        (2, None)
    );
    assert_eq!(refused(&started, done(&passed, 1, "w1")), "stale_attempt");
    let back = started.tools_changed(&tools(InDoubt::Retry)).detached();
    assert_eq!(back.current().phase.name(), "in_doubt");
    assert_eq!(back.claimed("w2", 60_000).attempt(), 3);
}
