//! The laws of the session, as properties over generated histories.
//!
//! Each function of `laws/` and `lawful/` named below is one law, and states it in its comment.
//! This file checks each law against some hundred histories, and laws 2 to 5 against 4,000,
//! so that the tests of the core end in seconds; `.ci/run` asks for 8,000. `PROPTEST_CASES` and
//! `RECOUNT_HISTORIES` change the numbers.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that meets the impossible must stop"
)]

#[path = "laws/generator.rs"]
mod generator;
mod lawful;
#[path = "laws/model.rs"]
mod model;
#[path = "laws/order.rs"]
mod order;
#[path = "laws/phases.rs"]
mod phases;
#[path = "laws/reach.rs"]
mod reach;
#[path = "laws/reuse.rs"]
mod reuse;
#[path = "laws/snapshots.rs"]
mod snapshots;
#[path = "laws/telling.rs"]
mod telling;
#[path = "laws/terms.rs"]
mod terms;
#[path = "laws/verdicts.rs"]
mod verdicts;

use generator::{recordings, wild_recordings};
use lawful::{
    Verdict, agents, answers, asking, claims, ends, fold, later, leave, pauses, quorum, recording,
    repeat, supplies,
};
use proptest::prelude::*;

fn holds(verdict: Verdict) -> Result<(), TestCaseError> {
    verdict.map_err(TestCaseError::fail)
}

/// Laws 2 to 5, for any history: every call ends once, no run without approval, not twice, one
/// answer counts.
const OF_ANY_HISTORY: [Law; 20] = [
    (
        "one client holds each start",
        claims::one_client_holds_each_start,
    ),
    (
        "only the lease doubts a client's run",
        claims::only_the_lease_doubts_a_clients_run,
    ),
    ("late results are fenced", claims::late_results_are_fenced),
    ("every call ends once", ends::every_call_ends_once),
    (
        "a closed session has nothing open",
        ends::a_closed_session_has_nothing_open,
    ),
    (
        "no call waits for the engine itself",
        ends::no_call_waits_for_the_engine_itself,
    ),
    (
        "nothing is due that the index missed",
        ends::nothing_is_due_that_the_index_missed,
    ),
    (
        "nothing expires by another deadline",
        ends::nothing_expires_by_another_deadline,
    ),
    (
        "no call outlives its agent",
        agents::no_call_outlives_its_agent,
    ),
    ("recorded turns are kept", agents::recorded_turns_are_kept),
    ("no run without leave", leave::no_run_without_leave),
    ("not twice by one leave", leave::not_twice_by_one_leave),
    (
        "attempts increase and name the runner",
        leave::attempts_increase_and_name_the_runner,
    ),
    (
        "running calls stay within the limit",
        leave::running_calls_stay_within_the_limit,
    ),
    (
        "open requests stay within the limit",
        asking::open_requests_stay_within_the_limit,
    ),
    (
        "nothing starts while a pause holds it",
        pauses::nothing_starts_while_a_pause_holds_it,
    ),
    (
        "a request pins the terms of its policy",
        quorum::request_pins_the_terms_of_its_policy,
    ),
    (
        "a denied call did not run",
        answers::a_denied_call_did_not_run,
    ),
    (
        "changed terms doubt nothing",
        later::changed_terms_doubt_nothing,
    ),
    ("one key is one call", later::one_key_is_one_call),
];

/// Laws for histories in which answers, supplied results and cancellations are checked by `admit`.
const OF_ADMITTED: [Law; 10] = [
    (
        "a call without a response was cancelled",
        ends::call_without_response_was_cancelled,
    ),
    (
        "no response is sent to a cancelled id",
        ends::no_response_is_sent_to_a_cancelled_id,
    ),
    (
        "an ended call is answered despite a cancellation",
        ends::ended_call_is_answered_despite_a_cancellation,
    ),
    ("one wire id is one call", leave::one_wire_id_is_one_call),
    ("one answer counts", answers::one_answer_counts),
    (
        "approvals stay within the limit",
        asking::approvals_stay_within_the_limit,
    ),
    (
        "the last yes or the first no decides",
        quorum::last_yes_or_first_no_decides,
    ),
    (
        "a rejected answer gets the recorded reason",
        answers::rejected_answer_gets_the_recorded_reason,
    ),
    (
        "supplied results are issued in order until the final one",
        supplies::supplied_results_are_issued_in_order_until_the_final_one,
    ),
    (
        "a result after the final one is rejected with it",
        supplies::result_after_the_final_one_is_rejected_with_it,
    ),
];

type Law = (&'static str, fn(&recording::Recording) -> Verdict);

/// Checks every law of a list against one history.
fn all_hold(laws: &[Law], recording: &recording::Recording) -> Result<(), TestCaseError> {
    for (name, law) in laws {
        law(recording).map_err(|why| TestCaseError::fail(format!("{name}: {why}")))?;
    }
    Ok(())
}

/// The number of histories of either kind for laws 2 to 5: 4,000, or `RECOUNT_HISTORIES`.
fn histories() -> u32 {
    std::env::var("RECOUNT_HISTORIES").map_or(4_000, |it| it.parse().expect("a number"))
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: histories(),
        ..ProptestConfig::default()
    })]

    #[test]
    fn laws_2_to_5_hold_for_every_admitted_history(recording in recordings()) {
        all_hold(&OF_ANY_HISTORY, &recording)?;
        all_hold(&OF_ADMITTED, &recording)?;
    }

    #[test]
    fn laws_2_to_5_hold_for_every_wild_history(recording in wild_recordings()) {
        all_hold(&OF_ANY_HISTORY, &recording)?;
    }
}

macro_rules! laws {
    ($($name:ident: $law:path, $histories:path;)+) => {
        proptest! {
            #![proptest_config(ProptestConfig {
                // A failing history is printed in readable form, so no seed is stored.
                failure_persistence: None,
                // Twice the default or `PROPTEST_CASES`. The rarest deliberate defect was found
                // after 400 cases.
                cases: 2 * ProptestConfig::default().cases,
                ..ProptestConfig::default()
            })]
            $(
                #[test]
                fn $name(recording in $histories()) {
                    holds($law(&recording))?;
                }
            )+
        }
    };
}

laws! {
    fold_equals_live: fold::fold_equals_live, wild_recordings;
    snapshot_and_rest_equal_the_full_fold:
        snapshots::snapshot_and_rest_equal_the_full_fold, wild_recordings;
    owed_is_what_the_records_left_unsettled:
        fold::owed_is_what_the_records_left_unsettled, wild_recordings;
    open_work_names_what_is_open: fold::open_work_names_what_is_open, wild_recordings;
    the_phase_is_where_the_state_leads: phases::the_phase_is_where_the_state_leads, wild_recordings;
    verdicts_follow_from_what_they_record:
        verdicts::verdicts_follow_from_what_they_record, wild_recordings;
    no_limit_is_exceeded: verdicts::no_limit_is_exceeded, wild_recordings;
    reused_result_is_of_an_equal_call: reuse::reused_result_is_of_an_equal_call, wild_recordings;
    only_retriable_runs_are_retried: reuse::only_retriable_runs_are_retried, wild_recordings;
    responses_say_whether_more_follows:
        telling::responses_say_whether_more_follows, wild_recordings;
    decisions_repeat: repeat::decisions_repeat, wild_recordings;
    the_rules_in_force_are_on_record: repeat::the_rules_in_force_are_on_record, wild_recordings;
    seqs_times_and_causes_are_in_order: order::seqs_times_and_causes_are_in_order, wild_recordings;
}

/// The laws are only tested if the generated histories reach the cases that they are about.
#[test]
fn histories_reach_every_required_case() {
    let reached = reach::reach(1500);
    let missing: Vec<&str> = reach::TO_REACH
        .iter()
        .copied()
        .filter(|word| !reached.contains_key(word))
        .collect();
    assert!(
        missing.is_empty(),
        "never reached: {missing:?}\n{reached:#?}"
    );
}
