//! Checks a journal against the laws.

use std::collections::BTreeMap;

use recount::ledger::Ledger;
use recount::replay;
use recount::session::{Event, Observation, Seq, Session, SessionId, evolve};
use recount::testing::Toolbox;

use crate::lawful::recording::Recording;
use crate::lawful::{
    agents, answers, asking, claims, ends, fold, later, leave, pauses, quorum, repeat, supplies,
};

/// Asserts that laws 2 to 7 hold for the records of the session.
pub(crate) async fn assert_lawful(ledger: &Ledger, id: SessionId) {
    let replayed = replay::verify(ledger, id).await.unwrap();
    assert_eq!(replayed.diverged, None);
    let recording = recorded(ledger, id).await;
    for law in [
        ends::every_call_ends_once,
        ends::a_closed_session_has_nothing_open,
        ends::no_call_waits_for_the_engine_itself,
        ends::nothing_is_due_that_the_index_missed,
        ends::call_without_response_was_cancelled,
        ends::no_response_is_sent_to_a_cancelled_id,
        ends::ended_call_is_answered_despite_a_cancellation,
        ends::nothing_expires_by_another_deadline,
        claims::one_client_holds_each_start,
        claims::only_the_lease_doubts_a_clients_run,
        claims::late_results_are_fenced,
        agents::no_call_outlives_its_agent,
        agents::recorded_turns_are_kept,
        leave::no_run_without_leave,
        leave::not_twice_by_one_leave,
        leave::attempts_increase_and_name_the_runner,
        leave::running_calls_stay_within_the_limit,
        later::changed_terms_doubt_nothing,
        later::one_key_is_one_call,
        leave::one_wire_id_is_one_call,
        pauses::nothing_starts_while_a_pause_holds_it,
        answers::one_answer_counts,
        quorum::last_yes_or_first_no_decides,
        quorum::request_pins_the_terms_of_its_policy,
        asking::open_requests_stay_within_the_limit,
        asking::approvals_stay_within_the_limit,
        answers::rejected_answer_gets_the_recorded_reason,
        answers::a_denied_call_did_not_run,
        fold::fold_equals_live,
        fold::owed_is_what_the_records_left_unsettled,
        fold::open_work_names_what_is_open,
        repeat::decisions_repeat,
        repeat::the_rules_in_force_are_on_record,
        supplies::supplied_results_are_issued_in_order_until_the_final_one,
        supplies::result_after_the_final_one_is_rejected_with_it,
    ] {
        if let Err(objection) = law(&recording) {
            panic!("{objection}\n{recording:?}");
        }
    }
}

/// Reads the session as a history in which each observation begins a step.
async fn recorded(ledger: &Ledger, id: SessionId) -> Recording {
    let facts = ledger.facts(id, Seq(1), 100_000).await.unwrap();
    let mut session = Session::new(id);
    for fact in &facts {
        ledger.provide(&mut session, fact).await.unwrap();
    }
    let mut recording = Recording {
        start: session.clone(),
        facts: facts.clone(),
        steps: Vec::new(),
        commands: Vec::new(),
        times: Vec::new(),
        tools: BTreeMap::new(),
    };
    for (index, fact) in facts.iter().enumerate() {
        if matches!(fact.event, Event::Observed(_)) && index > 0 {
            recording.steps.push((index, session.clone()));
        }
        session = evolve(session, fact);
        if let Event::Observed(Observation::RunnerAttached(_) | Observation::CatalogChanged(_)) =
            &fact.event
        {
            let tools = Toolbox::in_force(&session);
            recording.tools.insert(fact.seq, tools);
        }
    }
    recording.steps.push((facts.len(), session));
    recording
}
