#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets the impossible must stop"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::DateTime;
use recount_journal::{DiskJournal, block_on};
use serde_json::{Value, json};

use super::*;
use crate::audit::{LabelFilter, QuestionEnd, Verdict};
use crate::prelude::{Actor, Agent, Engine, T};
use crate::session::{Outcome, Rule};

fn corpus() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/journals");
    let folders = std::fs::read_dir(root)
        .unwrap()
        .map(|it| it.unwrap().path());
    let files = folders
        .filter(|it| it.is_dir())
        .flat_map(|it| std::fs::read_dir(it).unwrap());
    let mut files: Vec<PathBuf> = files.map(|it| it.unwrap().path()).collect();
    files.sort();
    files
}

/// The ledger of a journal of the corpus, and the directory in which it is.
fn imported(file: &Path) -> (Ledger, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let bytes = std::fs::read(file).unwrap();
    crate::ledger::import(&bytes[..], &path, None).unwrap();
    let journal = DiskJournal::options(&path).read_only().open().unwrap();
    (Ledger::new(Arc::new(journal)), directory)
}

fn told(file: &Path, filter: &Filter) -> Report {
    let (ledger, _directory) = imported(file);
    block_on(decisions(&ledger, filter, |_, _| ())).unwrap()
}

/// The calls of a session in pages of so many calls and bytes.
async fn in_pages(ledger: &Ledger, id: SessionId, limit: usize, bytes: usize) -> Vec<AuditedCall> {
    let (mut calls, mut after) = (Vec::new(), Seq(0));
    loop {
        let page = calls_after(ledger, id, after, limit, bytes).await.unwrap();
        assert!(page.calls.len() <= limit);
        calls.extend(page.calls);
        match calls.last() {
            Some(last) if page.more => after = last.seq,
            Some(_) | None => return calls,
        }
    }
}

#[test]
fn pages_of_every_corpus_session_have_each_call_once() {
    let mut longest = 0;
    for file in corpus() {
        let (ledger, _directory) = imported(&file);
        let (id, _) = block_on(ledger.session_heads()).unwrap()[0];
        let all = block_on(calls_of(&ledger, id)).unwrap();
        for (limit, bytes) in [(1, usize::MAX), (3, usize::MAX), (usize::MAX, 1)] {
            let paged = block_on(in_pages(&ledger, id, limit, bytes));
            assert_eq!(paged, all, "{}, by {limit}", file.display());
        }
        longest = longest.max(all.len());
    }
    assert!(longest > 3, "the corpus has sessions of several pages");
}

#[tokio::test]
async fn page_of_final_calls_reads_no_further() {
    let look_up = T::simple("look_up", "Looks up", |_| async { Ok(json!({})) });
    let engine = Engine::in_memory().agent("desk", Agent::new().tools(look_up));
    let engine = engine.open().await.unwrap();
    let session = engine.session("desk").open().await.unwrap();
    for nth in 0..PROJECTED {
        let by = Actor::embedder("pipeline");
        let args = json!({"nth": nth});
        session.call_function("look_up", args, by).await.unwrap();
    }
    let (ledger, id) = (engine.ledger(), session.session_id());
    let mut read = 0;
    let window = Window::after(Seq(0), 1, usize::MAX);
    let projection = project_in(ledger, id, window, |records| read = records).await;
    assert_eq!(projection.unwrap().rows().count(), 1);
    assert_eq!(read, PROJECTED as u64);
    let all = in_pages(ledger, id, 50, usize::MAX).await;
    assert_eq!(all.len(), PROJECTED);
}

fn story(name: &str) -> Report {
    let file = format!("fixtures/journals/rules-1/{name}.jsonl");
    told(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join(file),
        &Filter::default(),
    )
}

#[test]
fn totals_of_every_corpus_journal_add_up() {
    let (mut verdicts, mut outcomes, mut answers) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for file in corpus() {
        let report = told(&file, &Filter::default());
        let name = file.display();
        assert_eq!((report.sessions, report.unread.len()), (1, 0), "{name}");
        let totals = &report.totals;
        assert_eq!(totals.calls, report.calls.len() as u64, "{name}");
        assert_eq!(
            totals.verdicts.values().sum::<u64>(),
            totals.calls,
            "{name}"
        );
        assert_eq!(
            totals.outcomes.values().sum::<u64>() + totals.open,
            totals.calls,
            "{name}"
        );
        for call in &report.calls {
            let first = call.called_at;
            assert!(call.moments().all(|at| at >= first), "{name}: {call:#?}");
            let ran_unasked = call.ran_without_confirmation;
            let unasked = matches!(
                call.verdict,
                Verdict::AllowedByRule | Verdict::AllowedByProgram | Verdict::GateWaived
            );
            assert!(!ran_unasked || unasked, "{name}: {call:#?}");
        }
        verdicts.extend(totals.verdicts.keys().copied());
        outcomes.extend(totals.outcomes.keys().copied());
        answers.extend(totals.answers.keys().copied());
    }
    let missing = Verdict::ALL.into_iter().filter(|it| !verdicts.contains(it));
    // Every session of the corpus ran to its end, and no hook failed.
    let in_no_story = [
        Verdict::AllowedByProgram,
        Verdict::Waiting,
        Verdict::RefusedByProgram,
        Verdict::Undecided,
        // The corpus is older than the choice of what a missing answer means.
        Verdict::AllowedUnanswered,
        // The corpus is older than the record of a program's answer.
        Verdict::ApprovedAutomatically,
        Verdict::DeniedAutomatically,
    ];
    assert_eq!(
        missing
            .filter(|it| !in_no_story.contains(it))
            .collect::<Vec<_>>(),
        []
    );
    assert_eq!(outcomes.len(), 10, "all but the interim one: {outcomes:?}");
    assert_eq!(answers.len(), 7, "all but the open one: {answers:?}");
}

#[test]
fn corpus_sessions_answer_an_auditors_filters() {
    let approved = story("approved");
    let call = &approved.calls[0];
    let question = call.deciding_question().unwrap();
    assert_eq!(
        (call.verdict, question.waited_us),
        (Verdict::Approved, Some(90_000_000))
    );
    assert_eq!(question.hint.as_deref(), Some("Pay this?"));

    let waived = story("gates_waived");
    let call = waived
        .calls
        .iter()
        .find(|it| it.verdict == Verdict::GateWaived)
        .unwrap();
    assert!(call.ran_without_confirmation && !call.gates.enforced && call.gates.reason.is_some());

    let twice = story("answered_twice");
    assert_eq!(twice.totals.refused_answers, 1);
    assert_eq!(
        twice.calls[0].questions[0].refused[0].refusal,
        "already_answered"
    );

    let reconciled = story("cut_off_unknown_and_reconciled");
    assert_eq!(reconciled.totals.unknown_to_this_day, 0);
    assert!(reconciled.calls[0].reconciled.is_some());
    assert_eq!(story("cut_off_and_unknown").totals.unknown_to_this_day, 1);

    let settled = story("cut_off_asked_and_settled_as_done");
    assert_eq!(
        settled.totals.answers.get(&QuestionEnd::SettledAsDone),
        Some(&1)
    );

    let flawed = story("not_found_invalid_malformed_and_failed");
    let rules: BTreeSet<String> = flawed
        .calls
        .iter()
        .filter(|it| it.verdict == Verdict::RefusedByPolicy)
        .map(|it| format!("{:?}", it.policy.as_ref().map(|it| it.rule)))
        .collect();
    let malformed = flawed.calls.iter().find(|it| it.malformed_args.is_some());
    assert!(malformed.is_some_and(|it| it.args.is_none() && !it.args_text().is_empty()));
    for rule in [Rule::UnknownTool, Rule::MalformedArgs, Rule::InvalidArgs] {
        assert!(rules.contains(&format!("{:?}", Some(rule))), "{rules:?}");
    }
}

#[test]
fn filters_take_what_meets_all_of_them() {
    let file = corpus()
        .into_iter()
        .find(|it| it.ends_with("answered_twice.jsonl"))
        .unwrap();
    let all = told(&file, &Filter::default());
    let call = &all.calls[0];
    let counted = |filter: Filter| told(&file, &filter).calls.len();
    let question = &call.questions[0];
    let (by, late) = (&question.by.as_ref().unwrap().name, &question.refused[0]);
    let answered = question.ended_at.unwrap();
    let after = |at: Timestamp| Timestamp(at.0 + 1);
    let last = call.moments().max().unwrap();
    let actors = |name: &str| Filter {
        actors: vec![name.to_owned()],
        ..Filter::default()
    };
    assert_eq!(counted(actors(by)), 1);
    assert_eq!(
        counted(actors(&late.by.name)),
        1,
        "who tried to answer is found, too"
    );
    assert_eq!(counted(actors("nobody")), 0);
    let tools = |name: &str| Filter {
        tools: vec![name.to_owned(), "x".to_owned()],
        ..Filter::default()
    };
    assert_eq!((counted(tools(&call.tool)), counted(tools("fly"))), (1, 0));
    let verdicts = |verdict| Filter {
        verdicts: vec![verdict],
        ..Filter::default()
    };
    assert_eq!(
        (
            counted(verdicts(call.verdict)),
            counted(verdicts(Verdict::Expired))
        ),
        (1, 0)
    );
    let outcomes = |outcome| Filter {
        outcomes: vec![outcome],
        ..Filter::default()
    };
    assert_eq!(
        (
            counted(outcomes(Outcome::Returned)),
            counted(outcomes(Outcome::Denied))
        ),
        (1, 0)
    );
    let times = |from, until| Filter {
        from,
        until,
        ..Filter::default()
    };
    assert_eq!(counted(times(Some(answered), Some(after(answered)))), 1);
    assert_eq!(counted(times(Some(last), None)), 1);
    assert_eq!(counted(times(Some(after(last)), None)), 0);
    assert_eq!(counted(times(None, Some(call.called_at))), 0);
    assert_eq!(counted(times(None, Some(after(call.called_at)))), 1);
    // The call waited, but nothing happened to it between these two times.
    let asked = question.asked_at;
    assert!(after(asked) < answered);
    assert_eq!(counted(times(Some(after(asked)), Some(answered))), 0);
    let both = Filter {
        tools: vec![call.tool.clone()],
        ..actors("nobody")
    };
    assert_eq!(counted(both), 0);

    let mut labelled = call.clone();
    labelled.labels = BTreeMap::from([("tenant".to_owned(), "acme".to_owned())]);
    let labels = |texts: &[&str]| Filter {
        labels: texts.iter().map(|it| LabelFilter::parse(it)).collect(),
        ..Filter::default()
    };
    assert!(labels(&["tenant"]).takes(&labelled) && labels(&["tenant=acme"]).takes(&labelled));
    assert!(!labels(&["tenant=other"]).takes(&labelled) && !labels(&["acme"]).takes(&labelled));
    assert!(!labels(&["tenant=acme", "region"]).takes(&labelled));
    assert!(!labels(&["tenant"]).takes(call));
}

/// The members of a JSON document and of all documents in it.
fn members(of: &Value, found: &mut Vec<(String, Value)>) {
    match of {
        Value::Object(all) => {
            for (name, value) in all {
                found.push((name.clone(), value.clone()));
                members(value, found);
            }
        }
        Value::Array(all) => all.iter().for_each(|it| members(it, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// `--actor`, `--from` and `--to` find a call by every actor and every time of its row.
#[test]
fn filters_know_every_actor_and_time_of_a_row() {
    for file in corpus() {
        for call in told(&file, &Filter::default()).calls {
            let mut found = Vec::new();
            members(&serde_json::to_value(&call).unwrap(), &mut found);
            let people: Vec<Value> = call.people().map(|it| json!(it)).collect();
            let actors = found.iter().map(|(_, it)| it);
            for actor in actors.filter(|it| it.get("authenticated_by").is_some()) {
                assert!(people.contains(actor), "{}: {actor}", file.display());
            }
            let moments: Vec<i64> = call.moments().map(|it| it.0).collect();
            for (name, time) in &found {
                let is_moment = name == "at" || (name.ends_with("_at") && name != "expires_at");
                let Some(time) = time.as_str().filter(|_| is_moment) else {
                    continue;
                };
                let time = DateTime::parse_from_rfc3339(time).unwrap();
                let known = moments.contains(&time.timestamp_micros());
                assert!(known, "{}: {name}", file.display());
            }
        }
    }
}

#[test]
fn filter_finds_the_actor_of_a_pause() {
    let mut files = corpus().into_iter();
    let file = files.find(|it| it.ends_with("paused_over_a_restart.jsonl"));
    let mut call = told(&file.unwrap(), &Filter::default()).calls.remove(0);
    call.held[0].by = crate::session::Actor::os_user("mallory");
    let filter = Filter {
        actors: vec!["mallory".to_owned()],
        ..Filter::default()
    };
    assert!(filter.takes(&call));
}
