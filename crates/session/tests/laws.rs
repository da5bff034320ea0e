//! The laws of the session, as properties over generated histories.
//!
//! Each function of `laws/` and `lawful/` named below is one law, and states it in its comment.
//! This file checks each law against some hundred histories, and laws 2 to 5 against 20,000.
//! `PROPTEST_CASES` and `RECOUNT_HISTORIES` change the numbers.

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
use lawful::{Verdict, agents, answers, ends, fold, leave, recording, repeat, supplies};
use proptest::prelude::*;

fn holds(verdict: Verdict) -> Result<(), TestCaseError> {
    verdict.map_err(TestCaseError::fail)
}

/// Laws 2 to 5, for any history: every call ends once, no run without approval, not twice, one
/// answer counts.
const OF_ANY_WORLD: [Law; 12] = [
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
    (
        "turns that were paid for stay",
        agents::turns_that_were_paid_for_stay,
    ),
    ("no run without leave", leave::no_run_without_leave),
    ("not twice by one leave", leave::not_twice_by_one_leave),
    (
        "attempts increase and name the runner",
        leave::attempts_increase_and_name_the_runner,
    ),
    ("no more run than may", leave::no_more_run_than_may),
    (
        "a denied call did not run",
        answers::a_denied_call_did_not_run,
    ),
];

/// Laws for histories in which answers, supplied results and cancellations are checked by `admit`.
const BEHIND_THE_DOOR: [Law; 8] = [
    (
        "what ends untold was taken back",
        ends::what_ends_untold_was_taken_back,
    ),
    (
        "nothing is sent for an id taken back",
        ends::nothing_is_sent_for_an_id_taken_back,
    ),
    (
        "what had ended is told though it was taken back",
        ends::what_had_ended_is_told_though_it_was_taken_back,
    ),
    ("one wire id is one call", leave::one_wire_id_is_one_call),
    ("one answer counts", answers::one_answer_counts),
    (
        "a refused answer is told what is on record",
        answers::a_refused_answer_is_told_what_is_on_record,
    ),
    (
        "what is supplied is told in its order up to the last word",
        supplies::what_is_supplied_is_told_in_its_order_up_to_the_last_word,
    ),
    (
        "whoever comes after the last word is told it",
        supplies::whoever_comes_after_the_last_word_is_told_it,
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

/// The number of histories of either kind for laws 2 to 5: 20,000, or `RECOUNT_HISTORIES`.
fn histories() -> u32 {
    std::env::var("RECOUNT_HISTORIES").map_or(20_000, |it| it.parse().expect("a number"))
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: histories(),
        ..ProptestConfig::default()
    })]

    #[test]
    fn laws_2_to_5_hold_of_every_history_behind_the_door(recording in recordings()) {
        all_hold(&OF_ANY_WORLD, &recording)?;
        all_hold(&BEHIND_THE_DOOR, &recording)?;
    }

    #[test]
    fn laws_2_to_5_hold_of_every_history_in_a_wild_world(recording in wild_recordings()) {
        all_hold(&OF_ANY_WORLD, &recording)?;
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
    a_snapshot_and_the_rest_are_the_fold_of_all: snapshots::a_snapshot_and_the_rest_are_the_fold_of_all, wild_recordings;
    owed_is_what_was_asked_for_and_not_settled: fold::owed_is_what_was_asked_for_and_not_settled, wild_recordings;
    open_work_names_what_is_open: fold::open_work_names_what_is_open, wild_recordings;
    the_phase_is_where_the_state_leads: phases::the_phase_is_where_the_state_leads, wild_recordings;
    verdicts_follow_from_what_they_record: verdicts::verdicts_follow_from_what_they_record, wild_recordings;
    no_limit_is_exceeded: verdicts::no_limit_is_exceeded, wild_recordings;
    what_is_used_again_is_the_result_of_an_equal_call: reuse::what_is_used_again_is_the_result_of_an_equal_call, wild_recordings;
    only_what_may_run_again_runs_again: reuse::only_what_may_run_again_runs_again, wild_recordings;
    the_model_hears_whether_more_follows: telling::the_model_hears_whether_more_follows, wild_recordings;
    decisions_repeat: repeat::decisions_repeat, wild_recordings;
    the_rules_in_force_are_on_record: repeat::the_rules_in_force_are_on_record, wild_recordings;
    seqs_times_and_causes_are_in_order: order::seqs_times_and_causes_are_in_order, wild_recordings;
}

/// The laws are only tested if the generated histories reach the cases that they are about.
#[test]
fn the_histories_reach_every_event_outcome_phase_refusal_and_interleaving() {
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
