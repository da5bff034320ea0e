#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use crate::ledger::HintBy;
use serde_json::json;

use super::*;
use crate::audit::Filter;
use crate::session::{
    About, Actor, AllowFor, CancelReason, Command, Edits, InDoubt, Json, Rule, Start, Timestamp,
    ToolConfirmation, ToolPolicy, UnfitAnswer, admit, refusal_on_record,
};
use crate::testing::{History, Toolbox, history, toolbox};

/// The rows of a history, as the audit of its journal would give them.
pub(super) fn rows(history: &History) -> Vec<AuditedCall> {
    let library = history.session().library().clone();
    let session = Session::with_library(history.session().id, library);
    let projection = CallProjection::new(session, false, Window::all());
    let hash = |fact: &Fact| ObjectHash::of(&fact.seq.0.to_be_bytes());
    let told = history.facts().iter();
    told.fold(projection, |projection, fact| {
        projection.apply(fact, hash(fact))
    })
    .rows()
    .collect()
}

/// The row of the only call.
pub(super) fn row(history: &History) -> AuditedCall {
    let rows = rows(history);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    rows.into_iter().next().unwrap()
}

pub(super) fn begun(tools: &Toolbox) -> History {
    history().opened("support").attached(tools).connected()
}

pub(super) fn called(tools: &Toolbox) -> History {
    begun(tools).call("c1", "pay", json!({"cents": 4200}))
}

pub(super) fn gated() -> History {
    called(&toolbox().gated("pay"))
}

pub(super) fn ended(row: &AuditedCall) -> Option<Outcome> {
    row.ended.as_ref().map(|it| it.outcome)
}

#[test]
fn approved_call_has_approver_args_hint_and_times() {
    let history = gated()
        .later(12_000)
        .granted("ada")
        .later(3_000)
        .returned(json!({"paid": true}));
    let row = row(&history);
    let asked = row.called_at;
    assert_eq!(
        (
            row.agent.as_str(),
            row.tool.as_str(),
            row.wire_id.as_deref()
        ),
        ("support", "pay", Some("c1"))
    );
    assert_eq!(row.args.as_ref().unwrap().as_str(), r#"{"cents":4200}"#);
    assert_eq!(row.hash, ObjectHash::of(&row.seq.0.to_be_bytes()));
    let policy = row.policy.as_ref().unwrap();
    assert_eq!(
        (policy.rule, policy.policies),
        (Rule::Confirm, history.session().terms.policies_hash)
    );
    assert!(row.gates.enforced && !row.ran_without_confirmation);
    let question = row.deciding_question().unwrap();
    assert_eq!(question.hint.as_deref(), Some("May it pay?"));
    assert_eq!(
        (question.hint_by, question.about),
        (HintBy::Declaration, About::Gate)
    );
    assert_eq!(question.id, row.session.request_id(question.seq));
    assert_eq!(
        (question.end, question.waited_us),
        (QuestionEnd::Approved, Some(12_000_000))
    );
    assert_eq!(
        (question.asked_at, question.ended_at),
        (asked, Some(asked.after_ms(12_000)))
    );
    assert_eq!(question.by.as_ref(), Some(&Actor::embedder("ada")));
    let [run] = &row.runs[..] else {
        unreachable!("{row:#?}")
    };
    assert_eq!((run.attempt, run.request), (1, Some(question.seq)));
    assert_eq!(
        (run.started_at, run.ended_at),
        (asked.after_ms(12_000), Some(asked.after_ms(15_000)))
    );
    assert_eq!(row.ended.unwrap().at, asked.after_ms(15_000));
}

#[test]
fn run_without_approval_has_its_leave() {
    let waived = called(&toolbox().gated("pay").gates_waived("nobody is there"));
    let row_of_waived = row(&waived);
    assert!(row_of_waived.ran_without_confirmation);
    assert_eq!(row_of_waived.waived.unwrap().reason, "nobody is there");
    assert_eq!(
        row_of_waived.gates.reason.as_deref(),
        Some("nobody is there")
    );
    assert_eq!(row_of_waived.runs[0].leave, Leave::Waived);
    let allowed = row(&called(&toolbox().plain("pay")));
    assert!(allowed.ran_without_confirmation);
    assert_eq!(
        (allowed.runs[0].leave, allowed.policy.unwrap().rule),
        (Leave::NotGated, Rule::Default)
    );
    // A call that did not run did not run without confirmation.
    assert!(!row(&gated()).ran_without_confirmation);
    assert!(!row(&gated().denied("ada", None)).ran_without_confirmation);
}

#[test]
fn edited_args_are_kept_before_and_after() {
    let tools = toolbox().gated("pay").policy("pay", |it: &mut ToolPolicy| {
        it.gate_terms.edits = Some(Edits::Allowed)
    });
    let asked = called(&tools);
    let edited = Json::parse(r#"{"cents":4000}"#).unwrap();
    let answer = ToolConfirmation::confirmed()
        .with_reason("less")
        .with_payload(json!({"cost_centre": "4711"}))
        .with_args(edited.to_value());
    let request = asked.request();
    let row = row(&asked.commanded(Command::AnswerConfirmation {
        request,
        answer: Ok(answer),
        by: Actor::os_user("ada"),
    }));
    assert_eq!(row.args.as_ref().unwrap().as_str(), r#"{"cents":4200}"#);
    assert_eq!(row.edited_args, Some(edited));
    let question = row.deciding_question().unwrap();
    assert_eq!(question.reason.as_deref(), Some("less"));
    assert_eq!(
        question.payload.as_ref().unwrap().as_str(),
        r#"{"cost_centre":"4711"}"#
    );
}

#[test]
fn refused_answer_has_its_actor() {
    let asked = gated();
    let request = asked.request();
    let by = Actor::embedder("mallory");
    let unfit = UnfitAnswer::Malformed {
        problem: "neither".to_owned(),
    };
    let refused = admit(
        asked.session(),
        Command::AnswerConfirmation {
            request,
            answer: Err(unfit),
            by: by.clone(),
        },
    )
    .unwrap_err();
    let on_record = refusal_on_record(asked.session(), request, &by, &refused).unwrap();
    let row = row(&asked.observed(on_record).granted("ada"));
    let question = &row.questions[0];
    assert_eq!(question.end, QuestionEnd::Approved);
    assert_eq!(
        (
            &question.refused[0].by,
            question.refused[0].refusal.as_str()
        ),
        (&by, "malformed_answer")
    );
    let names: Vec<&str> = row.people().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["ada", "mallory"]);
}

#[test]
fn in_doubt_request_does_not_change_the_verdict() {
    let tools = toolbox().gated("pay").in_doubt("pay", InDoubt::Ask);
    let doubted = called(&tools).granted("ada").attached(&tools).later(500);
    let waiting = row(&doubted);
    assert_eq!(
        (waiting.verdict, waiting.questions.len()),
        (Verdict::Approved, 2)
    );
    assert_eq!(waiting.questions[1].about, About::InDoubt);
    assert_eq!(waiting.waits_as, Some("awaiting_confirmation"));
    let denied = row(&doubted.clone().denied("bob", None));
    assert_eq!(
        (denied.verdict, ended(&denied)),
        (Verdict::Approved, Some(Outcome::Unknown))
    );
    assert_eq!(denied.questions[1].end, QuestionEnd::Denied);
    assert!(denied.is_unknown() && !denied.ran_without_confirmation);
    let request = doubted.request();
    let settled = row(&doubted.commanded(Command::AnswerConfirmation {
        request,
        answer: Ok(ToolConfirmation::settled_as_failed("the bank refused it")),
        by: Actor::os_user("bob"),
    }));
    assert_eq!(settled.questions[1].end, QuestionEnd::SettledAsFailed);
    assert_eq!((settled.runs.len(), settled.runs[0].ended_at), (1, None));
    assert!(!settled.is_unknown());
}

#[test]
fn reconciled_outcome_is_known() {
    let plain = toolbox().plain("pay");
    let unknown = called(&plain).started().attached(&plain);
    assert!(row(&unknown).is_unknown());
    let call = unknown.call_seq();
    let row = row(&unknown.later(9).commanded(Command::ReconcileOutcome {
        call,
        name: "pay".to_owned(),
        found: Finding::done(&json!({"receipt": 17})),
        by: Actor::os_user("bob"),
    }));
    let found = row.reconciled.as_ref().unwrap();
    assert_eq!(
        (found.by.name.as_str(), found.found.as_str()),
        ("bob", "done")
    );
    assert_eq!(ended(&row), Some(Outcome::Unknown));
    assert!(!row.is_unknown());
}

#[test]
fn superseded_request_names_its_replacement() {
    let tools = toolbox().gated("pay");
    let asked = called(&tools).detached();
    let anew = asked.attached(&tools.clone().changed("pay"));
    let waiting = row(&anew);
    let [before, after] = &waiting.questions[..] else {
        unreachable!("{waiting:#?}")
    };
    assert_eq!(
        (before.end, before.superseded_by),
        (QuestionEnd::Superseded, Some(after.seq))
    );
    assert_ne!(before.contract, after.contract);
    assert_eq!(waiting.verdict, Verdict::Waiting);
    assert_eq!(row(&anew.granted("ada")).verdict, Verdict::Approved);
}

#[test]
fn hint_of_a_tools_own_request_is_by_tool() {
    let asked = called(&toolbox().plain("pay")).asks("From which account?");
    let row = row(&asked.granted("ada"));
    assert_eq!(row.verdict, Verdict::AllowedByRule);
    assert_eq!(
        (row.questions[0].hint_by, row.questions[0].about),
        (HintBy::Tool, About::Tool)
    );
    assert_eq!(row.questions[0].end, QuestionEnd::Approved);
    // The first run needed no approval; the second one had ada's.
    assert!(row.ran_without_confirmation);
    let leaves: Vec<Leave> = row.runs.iter().map(|it| it.leave).collect();
    assert_eq!(
        leaves,
        [Leave::NotGated, Leave::Approved(row.questions[0].seq)]
    );
    assert!(row.runs[0].ended_at.is_some());
}

#[test]
fn start_that_never_began_is_not_a_run() {
    let history = called(&toolbox().plain("pay")).detached_before_it_began();
    let row = row(&history);
    assert!(
        row.runs.is_empty() && !row.ran_without_confirmation,
        "{row:#?}"
    );
    // This filter selects the calls that ran without approval. A call that was allowed but did not
    // run is left out.
    let unconfirmed = Filter {
        unconfirmed: true,
        ..Filter::default()
    };
    assert!(row.verdict == Verdict::AllowedByRule && !unconfirmed.takes(&row));
    let ran = self::row(&called(&toolbox().plain("pay")).returned(json!({})));
    assert!(unconfirmed.takes(&ran));
    let Some(Event::Observed(Observation::RunnerDetached(it))) =
        history.facts().last().map(|it| &it.event)
    else {
        unreachable!("it detached")
    };
    assert_eq!(
        it.not_begun,
        [Start {
            call: row.seq,
            attempt: 1
        }]
    );
}

#[test]
fn redelivered_call_is_one_row() {
    let twice = gated().call("c1", "pay", json!({"cents": 4200}));
    assert_eq!(rows(&twice).len(), 1);
}

#[test]
fn withdrawal_has_reason_and_cancellation_has_actor() {
    let closed = row(&gated().closed());
    let why = CancelReason::SessionClosed.in_words();
    assert_eq!(closed.questions[0].reason.as_deref(), Some(why));
    assert_eq!(closed.cancelled.unwrap().by, None);
    let cancelled = row(&called(&toolbox().plain("pay")).cancelled());
    assert_eq!(
        cancelled.cancelled.unwrap().by,
        Some(Actor::embedder("ops"))
    );
}

#[test]
fn json_row_keeps_journal_names_and_number_texts() {
    let history = begun(&toolbox().gated("pay")).call("c1", "pay", json!({"cents": 42.0}));
    let json = serde_json::to_string(&row(&history.clone().granted("ada"))).unwrap();
    for part in [
        r#""args":{"cents":42.0}"#,
        r#""called_at":"2025-11-21T04:40:00.000000Z""#,
        r#""verdict":"approved""#,
        r#""rule":"confirm""#,
        r#""leave":"approved""#,
        r#""by":{"name":"ada","authenticated_by":"embedder"}"#,
        r#""waits_as":"running""#,
    ] {
        assert!(json.contains(part), "{part} in {json}");
    }
    assert_eq!(Timestamp(1_763_700_000_000_000), history.facts()[0].at);
}

#[test]
fn call_by_standing_leave_names_it_and_counts_as_approved() {
    let tools = toolbox().gated("pay").may_allow_for_session("pay");
    let five = AllowFor::Count(5);
    let given = called(&tools).granted_for("ada", five).returned(json!({}));
    let first = given.call("c2", "pay", json!({})).returned(json!({}));
    let second = first.call("c3", "pay", json!({})).returned(json!({}));
    let rows = rows(&second);
    assert_eq!(rows[0].questions[0].allow_for, Some(five));
    let row = &rows[2];
    assert_eq!(row.verdict, Verdict::AllowedByLeave);
    assert!(!row.ran_without_confirmation);
    let leave = row.leave.clone().unwrap();
    assert_eq!((leave.by, leave.nth), (vec![Actor::embedder("ada")], 2));
    assert_eq!((leave.count, leave.until), (Some(5), None));
    assert_eq!(row.runs[0].leave, Leave::Standing(leave.given));
    let ada = Filter {
        actors: vec!["ada".to_owned()],
        ..Filter::default()
    };
    assert!(ada.takes(row), "the approver of the leave is found");
}
