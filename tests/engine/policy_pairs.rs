//! Every two policies hold together, in either order, on every kind of tool, or the build rejects
//! the pair.
//!
//! One table lists each policy with the kinds of tool that it cannot apply to, the actions that try
//! it, and its checks. Each pair is tried in one conversation. Its evidence is checked for both
//! promises: the counted runs, the records, and the messages to the model. A policy is also paired
//! with itself.

mod tools;
mod world;

use std::time::Duration;

use recount::prelude::*;
use recount::session::{Decision, Event, Observation, Outcome, Rule, Verdict};

use self::tools::{Doing, Kind};
use self::world::{Answer, Evidence, Then, World};

/// One policy.
pub(crate) struct Policy {
    /// The name of the policy in errors of the build.
    form: &'static str,
    apply: fn(Toolset) -> Toolset,
    /// The kinds of tool to which it cannot apply.
    forbids: &'static [Kind],
    /// The actions that try it.
    act: fn(&mut World),
    /// The checks of its promise.
    check: fn(&Evidence),
}

/// The policies in the order of trying: those that block calls first, those that use up a limit
/// last.
const POLICIES: [Policy; 13] = [
    Policy {
        form: "in_phases",
        apply: |tool| T::in_phases(tool, ["open"]),
        forbids: &[],
        act: |world| {
            world.call(Doing::Ok, Then::Approved);
            world.set("open");
            world.call(Doing::Ok, Then::Approved);
        },
        check: |it| only_after(it, "in_phases", Rule::Phase),
    },
    Policy {
        form: "when",
        apply: |tool| T::when(tool, S::is_true("verified")),
        forbids: &[],
        act: |world| {
            world.call(Doing::Ok, Then::Approved);
            world.set("verified");
            world.call(Doing::Ok, Then::Approved);
        },
        check: |it| only_after(it, "when", Rule::Condition),
    },
    Policy {
        form: "timeout",
        apply: |tool| T::timeout(tool, LIMIT),
        forbids: &[],
        act: |world| {
            world.call(Doing::Hang, Then::Approved);
        },
        check: a_run_ends_in_time,
    },
    Policy {
        form: "cached",
        apply: |tool| T::cached(tool),
        forbids: &[Kind::Streaming, Kind::LongRunning],
        act: |world| {
            for _ in 0..2 {
                world.call_again(SHARED, Doing::Ok, Then::Approved);
            }
        },
        check: an_equal_call_takes_the_result,
    },
    Policy {
        form: "confirm",
        apply: |tool| T::confirm(tool, "Really?"),
        forbids: &[],
        act: |world| {
            world.call(Doing::Ok, Then::Approved);
            world.call(Doing::Ok, Then::Denied);
        },
        check: nothing_runs_without_leave,
    },
    Policy {
        form: "background",
        apply: |tool| T::background_with(tool, FunctionResponseScheduling::Interrupt),
        forbids: &[],
        act: |world| {
            world.call(Doing::Ok, Then::Approved);
        },
        check: the_model_does_not_wait,
    },
    Policy {
        form: "retry",
        apply: |tool| T::idempotent(T::retry(tool, 3, BACKOFF)),
        forbids: &[],
        act: |world| {
            world.call(Doing::FailTwice, Then::Approved);
            world.call(Doing::Fail, Then::Approved);
        },
        check: a_failed_run_is_followed_by_another,
    },
    Policy {
        form: "secret",
        apply: |tool| T::secret(tool, "/card"),
        forbids: &[],
        act: |world| {
            world.call(Doing::Ok, Then::Approved);
        },
        check: only_the_tool_sees_the_secret,
    },
    Policy {
        form: "withdraw_on_cancel",
        apply: |tool| T::withdraw_on_cancel(tool),
        forbids: &[],
        act: |world| {
            // The model cancels a long-running tool while its result is awaited, and any other
            // while it runs; either may also be waiting for approval.
            let doing = match world.kind() {
                Kind::LongRunning => Doing::Ok,
                Kind::Function | Kind::Typed | Kind::Custom | Kind::Streaming => Doing::Hang,
            };
            world.call(doing, Then::TakenBack);
        },
        check: cancelled_call_is_over,
    },
    Policy {
        form: "envelope",
        // The setting belongs to the agent, and `World` applies it.
        apply: |tool| tool,
        forbids: &[],
        act: |world| {
            world.call(Doing::Ok, Then::Approved);
            world.call(Doing::Fail, Then::Approved);
        },
        check: every_answer_has_its_envelope,
    },
    Policy {
        form: "idempotent",
        apply: |tool| T::idempotent(tool),
        forbids: &[],
        act: |world| {
            world.call(Doing::HangOnce, Then::CutOff);
        },
        check: call_that_was_cut_off_runs_again,
    },
    Policy {
        form: "limit_per_session",
        apply: |tool| T::limit_per_session(tool, PER_SESSION),
        forbids: &[],
        act: use_up,
        check: no_more_than_the_session_may,
    },
    Policy {
        form: "limit_per_minute",
        apply: |tool| T::limit_per_minute(tool, PER_MINUTE),
        forbids: &[],
        act: use_up,
        check: no_more_than_a_minute_may,
    },
];

const LIMIT: Duration = Duration::from_secs(5);
const BACKOFF: Duration = Duration::from_millis(200);
const PER_SESSION: u32 = 8;
const PER_MINUTE: u32 = 5;
/// The key of the calls that are equal.
const SHARED: u64 = 1000;
const CARD: &str = "4111-hidden-number";
/// The act of calls that belong to no policy.
const BOTH: &str = "";

#[test]
fn every_pair_holds_on_a_function() {
    every_pair_holds_on(Kind::Function);
}

#[test]
fn every_pair_holds_on_a_typed_function() {
    every_pair_holds_on(Kind::Typed);
}

#[test]
fn every_pair_holds_on_a_function_of_a_type_of_ones_own() {
    every_pair_holds_on(Kind::Custom);
}

#[test]
fn every_pair_holds_on_a_streaming_tool() {
    every_pair_holds_on(Kind::Streaming);
}

#[test]
fn every_pair_holds_on_a_long_running_tool() {
    every_pair_holds_on(Kind::LongRunning);
}

#[test]
fn retry_is_rejected_unless_tool_may_run_again() {
    for policy in &POLICIES {
        let tool = || T::simple("work", "Works", |_| async { Ok(json!({})) });
        let retry = |tool| T::retry(tool, 3, BACKOFF);
        for tools in [retry((policy.apply)(tool())), (policy.apply)(retry(tool()))] {
            let registered = ToolDispatcher::new().register(tools);
            match policy.form {
                "retry" | "idempotent" => assert_eq!(registered, Ok(())),
                form => assert_eq!(
                    registered.map_err(|error| error.to_string()),
                    Err(
                        "tool \"work\": retry makes no sense: the tool is not declared idempotent"
                            .to_owned()
                    ),
                    "retry and {form}"
                ),
            }
        }
    }
}

fn every_pair_holds_on(kind: Kind) {
    let mut played = 0;
    for (place_of_one, one) in POLICIES.iter().enumerate() {
        for (place_of_other, other) in POLICIES.iter().enumerate() {
            let began = World::begin(kind, [one, other]);
            let senseless = [one, other]
                .into_iter()
                .filter(|it| it.forbids.contains(&kind));
            let senseless: Vec<&Policy> = senseless.collect();
            let mut world = match (began, senseless.as_slice()) {
                (Ok(world), []) => world,
                (Err(told), [_, ..]) => {
                    for policy in senseless {
                        let mistake = format!("tool \"work\": {} makes no sense", policy.form);
                        assert!(told.contains(&mistake), "{told}");
                    }
                    continue;
                }
                (Ok(_), [_, ..]) => panic!("{} and {} on {kind:?}", one.form, other.form),
                (Err(told), []) => panic!("{} and {} on {kind:?}: {told}", one.form, other.form),
            };
            // Printed only if an assertion fails.
            println!("{} and then {} on {kind:?}", one.form, other.form);
            let (first, second) = if place_of_one <= place_of_other {
                (one, other)
            } else {
                (other, one)
            };
            world.act(first);
            if place_of_one != place_of_other {
                world.act(second);
            }
            let evidence = world.evidence();
            nothing_else_happened(&evidence);
            (one.check)(&evidence);
            (other.check)(&evidence);
            played += 1;
        }
    }
    let refused = POLICIES
        .iter()
        .filter(|it| it.forbids.contains(&kind))
        .count();
    assert_eq!(played, (POLICIES.len() - refused).pow(2));
}

/// Checks that hold under all policies: nothing happens that no policy asked for.
fn nothing_else_happened(it: &Evidence) {
    assert_eq!(it.open, 0);
    assert!(it.replays);
    let starts: usize = it.calls.iter().map(|call| it.starts(call).len()).sum();
    assert_eq!(it.runs.len(), starts, "{:?}", it.runs);
    for call in &it.calls {
        let outcomes = it.outcomes(call);
        assert_eq!(outcomes.len(), 1, "{call:?} {outcomes:?}");
        let restarts = usize::from(call.then == Then::CutOff);
        assert!(
            it.has("retry") || starts_at_most(it, call, 1 + restarts),
            "{call:?}"
        );
        if !it.has("retry") {
            assert_eq!(it.count(call, "retry_scheduled"), 0, "{call:?}");
        }
        if !it.has("confirm") {
            assert!(it.asked(call).is_empty(), "{call:?}");
        }
        if !it.has("cached") {
            assert_eq!(it.count(call, "result_reused"), 0, "{call:?}");
        }
        if !it.has("background") {
            assert_eq!(it.count(call, "background_spawned"), 0, "{call:?}");
        }
        if !it.has("timeout") {
            assert_ne!(outcomes, [Outcome::TimedOut], "{call:?}");
        }
        if it.verdict(call).1.verdict == Verdict::Refused {
            assert!(it.runs_of(call).is_empty(), "{call:?}");
        }
        // The outcome of a call that was cut off is sent as text, because its connection is gone.
        let in_the_conversation = call.then == Then::CutOff;
        if let ([meanwhile @ .., end], false) =
            (it.answers_to(call).as_slice(), in_the_conversation)
        {
            assert!(
                meanwhile.iter().all(|it| it.will_continue == Some(true)),
                "{call:?}"
            );
            let more = outcomes == [Outcome::Withdrawn];
            assert_eq!(end.will_continue == Some(true), more, "{call:?}");
            let streams = it.kind == Kind::Streaming && outcomes == [Outcome::Returned];
            assert!(!streams || meanwhile.len() >= 2, "{call:?}");
        }
    }
    if !it.has("envelope") {
        let wrapped = |answer: &&Answer| answer.body.get("scheduling").is_some();
        assert!(
            !it.answers.iter().any(|answer| wrapped(&answer)),
            "{:?}",
            it.answers
        );
    }
}

fn starts_at_most(it: &Evidence, call: &world::Call, most: usize) -> bool {
    it.starts(call).len() <= most
}

/// The kind of the error that the model received for a call.
fn error_kind(it: &Evidence, call: &world::Call) -> Value {
    it.told(call)["kind"].clone()
}

/// Asserts that the first call of `act` comes too early, and no other does.
fn only_after(it: &Evidence, act: &str, rule: Rule) {
    let [early, later] = it.of(act).try_into().unwrap();
    assert_eq!(it.outcomes(early), [Outcome::Refused]);
    assert_eq!(it.verdict(early).1.rule, rule);
    assert_eq!(error_kind(it, early), "not_available");
    let barred = |call: &&world::Call| it.verdict(call).1.rule == rule;
    // A call that tries the phase never satisfies the condition once the phase is entered.
    let (other_bars, bars_other) = match act {
        "in_phases" => (it.has("when"), false),
        _ => (false, it.has("in_phases")),
    };
    let barred = it.calls.iter().filter(barred).count();
    assert_eq!(barred, if bars_other { 2 } else { 1 });
    let outcome = if other_bars {
        Outcome::Refused
    } else {
        it.success()
    };
    assert_eq!(it.outcomes(later), [outcome]);
    let inputs = it.verdict(later).1.inputs.as_ref().unwrap().to_value();
    if rule == Rule::Phase {
        assert_eq!(inputs["phase"], "open");
    } else {
        assert_eq!(inputs["state"], json!({"verified": true}));
    }
}

fn a_run_ends_in_time(it: &Evidence) {
    let [hung] = it.of("timeout").try_into().unwrap();
    assert_eq!(it.outcomes(hung), [Outcome::TimedOut]);
    let runs = it.runs_of(hung);
    assert_eq!(runs.len(), if it.has("retry") { 3 } else { 1 });
    assert!(runs.iter().all(|run| run.is_gone()), "{runs:?}");
    assert_eq!(error_kind(it, hung), "timeout");
    // The deadline holds for every run of every call.
    for call in &it.calls {
        for (fact, started) in it.starts(call) {
            assert_eq!(started.deadline_us, Some(fact.at.after(LIMIT)), "{call:?}");
        }
    }
}

fn an_equal_call_takes_the_result(it: &Evidence) {
    let [first, second] = it.of("cached").try_into().unwrap();
    assert_eq!(it.outcomes(first), [Outcome::Returned]);
    assert_eq!(it.outcomes(second), [Outcome::Returned]);
    assert_eq!(it.runs_of(first).len(), 1);
    assert_eq!(it.starts(second).len(), 0);
    assert_eq!(it.count(second, "result_reused"), 1);
    assert_eq!(it.verdict(second).1.rule, Rule::Cached);
    assert!(it.asked(second).is_empty());
    assert_eq!(it.told(second), it.told(first));
    let reused = it.calls.iter().map(|call| it.count(call, "result_reused"));
    assert_eq!(reused.sum::<usize>(), 1);
}

fn nothing_runs_without_leave(it: &Evidence) {
    let [approved, denied] = it.of("confirm").try_into().unwrap();
    assert_eq!(it.outcomes(approved), [it.success()]);
    assert_eq!(it.runs_of(approved).len(), 1);
    assert_eq!(it.outcomes(denied), [Outcome::Denied]);
    assert_eq!(it.runs_of(denied).len(), 0);
    assert_eq!(error_kind(it, denied), "cancelled");
    let told = it.told(denied)["error"].to_string();
    assert!(told.contains("not today"), "{told}");
    for call in &it.calls {
        let verdict = it.verdict(call).1;
        let asked = it.asked(call);
        let asks = verdict.verdict == Verdict::Ask;
        assert_eq!(asked.len(), usize::from(asks), "{call:?}");
        assert!(
            asked.iter().all(|it| it.hint.as_deref() == Some("Really?")),
            "{asked:?}"
        );
        let Some((started, _)) = it.starts(call).into_iter().next() else {
            continue;
        };
        let requests: Vec<_> = it
            .decided(call)
            .into_iter()
            .filter(|(_, decision)| decision.question().is_some())
            .map(|(fact, _)| fact.seq)
            .collect();
        let leave = it.facts.iter().any(|fact| match &fact.event {
            Event::Observed(Observation::ConfirmationAnswered(answer)) => {
                answer.confirmed && requests.contains(&answer.request) && fact.seq < started.seq
            }
            Event::Observed(_) | Event::Decided(_) => false,
        });
        assert!(leave, "{call:?} ran without leave");
    }
}

fn the_model_does_not_wait(it: &Evidence) {
    let [call] = it.of("background").try_into().unwrap();
    assert_eq!(it.outcomes(call), [it.success()]);
    let answers = it.answers_to(call);
    let [running, .., result] = answers.as_slice() else {
        panic!("{answers:?}")
    };
    let told = if it.has("envelope") {
        &running.body["output"]
    } else {
        &running.body
    };
    // A call that waits for approval was acknowledged at the request.
    let status = if it.has("confirm") {
        "awaiting_confirmation"
    } else {
        "running"
    };
    assert_eq!(*told, json!({"status": status, "tool": "work"}));
    assert_eq!(
        (running.will_continue, running.scheduling.as_deref()),
        (Some(true), None)
    );
    assert_eq!(result.will_continue, Some(false));
    assert_eq!(result.scheduling.as_deref(), Some("INTERRUPT"));
    for call in &it.calls {
        let starts = it.starts(call).len();
        assert_eq!(it.count(call, "background_spawned"), starts, "{call:?}");
        // A failure is delivered silently.
        let answers = it.answers_to(call);
        let failed = !matches!(
            it.outcomes(call).as_slice(),
            [Outcome::Returned | Outcome::Supplied]
        );
        if let (Some(last), true, true) = (answers.last(), failed, starts > 0)
            && it.outcomes(call) != [Outcome::Withdrawn]
        {
            assert_eq!(last.scheduling.as_deref(), Some("SILENT"), "{call:?}");
        }
    }
}

fn a_failed_run_is_followed_by_another(it: &Evidence) {
    let [twice, ever] = it.of("retry").try_into().unwrap();
    assert_eq!(it.outcomes(twice), [it.success()]);
    assert_eq!(it.outcomes(ever), [Outcome::Failed]);
    for call in [twice, ever] {
        assert_eq!(it.attempts(call), [1, 2, 3]);
        let keys: Vec<_> = it
            .runs_of(call)
            .into_iter()
            .map(|run| &run.idempotency_key)
            .collect();
        let [first, second, third] = keys.try_into().unwrap();
        assert!(first == second && second == third);
        let waits: Vec<i64> = it
            .decided(call)
            .into_iter()
            .filter_map(|(fact, decision)| {
                if let Decision::RetryScheduled(it) = decision {
                    Some((it.due_us.0 - fact.at.0) / 1000)
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(waits, [200, 400]);
    }
    let key = |call| it.runs_of(call).first().unwrap().idempotency_key.clone();
    assert!(key(twice).is_none() || key(twice) != key(ever));
}

fn only_the_tool_sees_the_secret(it: &Evidence) {
    let [call] = it.of("secret").try_into().unwrap();
    assert_eq!(it.outcomes(call), [it.success()]);
    assert!(!it.runs.is_empty() && it.runs.iter().all(|run| run.work.card == CARD));
    for fact in &it.facts {
        let text = format!("{:?}", fact.event);
        assert!(!text.contains("hidden-number"), "{text}");
        if let Event::Observed(Observation::FunctionCallReceived(received)) = &fact.event {
            assert_eq!(received.sealed_args, ["/card"]);
        }
    }
    let told = it.answers.iter().map(|answer| answer.body.to_string());
    assert!(told.into_iter().all(|told| !told.contains("hidden-number")));
}

fn cancelled_call_is_over(it: &Evidence) {
    let [call] = it.of("withdraw_on_cancel").try_into().unwrap();
    assert_eq!(it.outcomes(call), [Outcome::Withdrawn]);
    let ran = usize::from(!it.has("confirm"));
    let runs = it.runs_of(call);
    assert_eq!(runs.len(), ran);
    assert!(runs.iter().all(|run| run.is_gone()), "{runs:?}");
    assert_eq!(it.count(call, "confirmation_withdrawn"), 1 - ran);
    assert!(
        it.answers_to(call)
            .iter()
            .all(|answer| answer.will_continue == Some(true))
    );
}

fn every_answer_has_its_envelope(it: &Evidence) {
    let [good, bad] = it.of("envelope").try_into().unwrap();
    assert_eq!(it.outcomes(good), [it.success()]);
    assert_eq!(it.outcomes(bad), [Outcome::Failed]);
    for answer in &it.answers {
        let mut fields: Vec<&str> = answer
            .body
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        fields.sort_unstable();
        // A supplied result is delivered as it was supplied.
        let ended = answer.will_continue != Some(true);
        if !(ended && answer.body.get("supplied").is_some()) {
            assert_eq!(fields, ["output", "scheduling"], "{answer:?}");
        }
    }
    let told = |call| it.answers_to(call).last().unwrap().body.clone();
    let background = it.has("background");
    let result = match it.kind {
        Kind::LongRunning => json!({"supplied": true}),
        Kind::Streaming if background => {
            let words = json!({"status": "completed", "tool": "work", "result": null});
            json!({ "output": words, "scheduling": "INTERRUPT" })
        }
        Kind::Streaming => json!({"output": {"status": "completed"}, "scheduling": "WHEN_IDLE"}),
        Kind::Function | Kind::Typed | Kind::Custom => {
            let result = json!({ "key": good.key });
            if background {
                let words = json!({"status": "completed", "tool": "work", "result": result});
                json!({ "output": words, "scheduling": "INTERRUPT" })
            } else {
                json!({ "output": result, "scheduling": "WHEN_IDLE" })
            }
        }
    };
    assert_eq!(told(good), result);
    if background {
        let error = json!({"status": "error", "tool": "work", "error": "as asked"});
        assert_eq!(
            told(bad),
            json!({ "output": error, "scheduling": "SILENT" })
        );
        return;
    }
    let error = json!({"error": "as asked", "kind": "execution_failed", "success": false});
    assert_eq!(
        told(bad),
        json!({ "output": error, "scheduling": "SILENT" })
    );
}

fn call_that_was_cut_off_runs_again(it: &Evidence) {
    let [call] = it.of("idempotent").try_into().unwrap();
    assert_eq!(it.outcomes(call), [it.success()]);
    assert_eq!(it.attempts(call), [1, 2]);
    let runs = it.runs_of(call);
    let [before, after] = runs.as_slice() else {
        panic!("{runs:?}")
    };
    assert_eq!(before.idempotency_key, after.idempotency_key);
    let runners: Vec<_> = it
        .starts(call)
        .into_iter()
        .map(|(_, it)| it.runner)
        .collect();
    assert_ne!(runners.first(), runners.last());
}

/// Calls until calls are rejected, with a minute's wait after each rejection.
fn use_up(world: &mut World) {
    let mut refused = 0;
    for _ in 0..20 {
        if world.call(Doing::Ok, Then::Approved) == Outcome::Refused {
            refused += 1;
            world.wait(Duration::from_secs(61));
        } else if refused > 0 && !world.has("limit_per_session") {
            return;
        } else {
            refused = 0;
        }
        if refused == 2 {
            return;
        }
    }
    panic!("it may be called without end");
}

/// The times of the calls that were allowed and count towards a limit.
fn let_through(it: &Evidence) -> Vec<i64> {
    let verdicts = it.calls.iter().map(|call| it.verdict(call));
    verdicts
        .filter(|(_, it)| it.verdict != Verdict::Refused && it.rule != Rule::Cached)
        .map(|(fact, _)| fact.at.0)
        .collect()
}

fn a_limit_says_no(it: &Evidence) {
    let refused = it
        .calls
        .iter()
        .filter(|call| it.verdict(call).1.rule == Rule::Limit);
    let refused: Vec<_> = refused.collect();
    assert!(!refused.is_empty());
    for call in refused {
        assert_eq!(it.outcomes(call), [Outcome::Refused]);
        assert_eq!(error_kind(it, call), "limit_reached");
    }
}

fn no_more_than_the_session_may(it: &Evidence) {
    a_limit_says_no(it);
    assert_eq!(let_through(it).len(), PER_SESSION as usize);
}

fn no_more_than_a_minute_may(it: &Evidence) {
    a_limit_says_no(it);
    let times = let_through(it);
    let in_the_minute_to = |to: i64| {
        let within = times
            .iter()
            .filter(|at| (to - 60_000_000..=to).contains(*at));
        within.count()
    };
    let most = times.iter().map(|at| in_the_minute_to(*at)).max();
    assert_eq!(most, Some(PER_MINUTE as usize));
    // The limit is per minute and not per session, so calls are allowed again.
    let last_refused = it
        .calls
        .iter()
        .position(|call| it.verdict(call).1.rule == Rule::Limit);
    let goes_on = it.calls.iter().skip(last_refused.unwrap());
    assert!(
        goes_on
            .into_iter()
            .any(|call| it.verdict(call).1.verdict != Verdict::Refused)
    );
}
