//! `recount diff` over two sessions.

use std::fs;

use recount_journal::{Actor, Append, DiskJournal, Draft, Hash, Journal, Line, block_on};
use serde_json::{Value, json};

use crate::program::Bench;

/// A journal of the corpus.
pub(crate) fn imported(bench: &Bench, story: &str) {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/journals");
    let files = ["rules-1", "rules-2"].map(|it| format!("{corpus}/{it}/{story}.jsonl"));
    let file = files.iter().find(|it| fs::exists(it).unwrap()).unwrap();
    fs::copy(file, bench.path(&format!("{story}.jsonl"))).unwrap();
    bench
        .run(&format!("import {story}.jsonl {story}"))
        .ends_with(0);
}

/// Makes a journal of one session, connected and with these records.
fn journal(bench: &Bench, name: &str, records: &[(&str, Value)]) {
    journal_at(bench, name, 0, records);
}

/// As [`journal`], with this time of the last record.
fn journal_at(bench: &Bench, name: &str, last_at_us: i64, records: &[(&str, Value)]) {
    let begun = [
        (
            "session_opened",
            json!({"agent": "support", "rules": 1, "program": "recount 0.1.0"}),
        ),
        ("connected", json!({"model": "m", "endpoint": "e"})),
    ];
    let session = uuid::Uuid::max();
    let (mut lines, mut prev): (Vec<Line>, Hash) = (Vec::new(), Hash::ZERO);
    let last = (begun.len() + records.len()) as u64;
    for (seq, (kind, body)) in (1..).zip(begun.iter().chain(records)) {
        let draft = Draft {
            session,
            seq,
            at_us: if seq == last { last_at_us } else { 0 },
            kind,
            cause: None,
            actor: Actor::new("engine"),
            body: &body.to_string(),
            prev,
        };
        let line = draft.line();
        prev = line.leaf();
        lines.push(line);
    }
    let journal = DiskJournal::open(bench.path(name)).unwrap();
    block_on(journal.append(Append::new(session, 0, lines))).unwrap();
    block_on(journal.close()).unwrap();
}

fn said(text: &str) -> (&'static str, Value) {
    ("user_text_sent", json!({"epoch": 2, "text": text}))
}

fn looked() -> (&'static str, Value) {
    let call = json!({"epoch": 2, "id": "c", "name": "look", "args": {"n": 1}});
    ("function_call_received", call)
}

fn turn_ended() -> (&'static str, Value) {
    ("turn_completed", json!({"epoch": 2}))
}

#[test]
fn equal_call_in_another_turn_is_a_difference() {
    let bench = Bench::new();
    let first = [said("first"), looked(), turn_ended(), said("second")];
    let second = [said("first"), turn_ended(), said("second"), looked()];
    journal(&bench, "a", &first);
    journal(&bench, "b", &second);
    bench.run("diff a b").ends_with(5).prints(&[
        "Turn 1, look {\"n\":1}  (seq 4 and 6)",
        "in another turn: 1 in the first, 2 in the second",
        "1 difference\n",
    ]);
    // A turn is not identified by its number.
    let paid = || {
        let call = json!({"epoch": 2, "id": "d", "name": "pay", "args": {}});
        ("function_call_received", call)
    };
    journal(&bench, "in_order", &[said("first"), looked(), paid()]);
    let swapped = [said("wait"), turn_ended(), said("first"), paid(), looked()];
    journal(&bench, "swapped", &swapped);
    bench.run("diff in_order swapped").ends_with(5).prints(&[
        "+ turn 1: “wait”",
        "at another place in its turn",
        "2 differences\n",
    ]);
    // A missing turn takes its call with it, even if another turn has an equal call.
    journal(
        &bench,
        "both",
        &[
            said("first"),
            looked(),
            turn_ended(),
            said("second"),
            looked(),
        ],
    );
    journal(&bench, "last", &[said("second"), looked()]);
    bench.run("diff both last").ends_with(5).prints(&[
        "- turn 1: “first”",
        "- turn 1: look {\"n\":1}  (seq 4)",
        "2 differences\n",
    ]);
}

#[test]
fn state_of_the_program_is_compared_but_not_the_service() {
    let bench = Bench::new();
    let wrote = |plan: &str| {
        let author = json!({"program": {"name": "ada", "authenticated_by": "embedder"}});
        let change = json!({"key": "plan", "value": plan});
        (
            "state_changed",
            json!({"changes": [change], "author": author}),
        )
    };
    let lost = ("disconnected", json!({"epoch": 2, "reason": "1006"}));
    journal(&bench, "a", &[said("hello"), wrote("monthly")]);
    journal(&bench, "other", &[said("hello"), wrote("yearly")]);
    journal(&bench, "without", &[said("hello")]);
    journal(&bench, "lost", &[said("hello"), wrote("monthly"), lost]);
    let parts = bench.run("diff a other").ends_with(5);
    parts.prints(&[
        "- turn 1: state_changed ",
        "monthly",
        "+ turn 1: state_changed ",
        "yearly",
    ]);
    bench
        .run("diff a without")
        .ends_with(5)
        .prints(&["1 difference\n"]);
    bench.run("diff a lost").ends_with(0).prints(&[
        "No difference: 1 turn, 0 calls, 1 state change\n",
        "note: connections, workers, ",
    ]);
    let exact = bench.run("diff a lost --exact").ends_with(5);
    exact.prints(&["+ turn 1: disconnected ", "1006"]);
}

#[test]
fn exact_compares_every_field_and_the_time() {
    let bench = Bench::new();
    let ada = || json!({"name": "ada", "authenticated_by": "embedder"});
    // The body of a record, and the members that differ in the other journal.
    let pairs = [
        (
            "user_text_sent",
            json!({"text": "hello"}),
            json!({"epoch": 1}),
        ),
        (
            "transcript_received",
            json!({"speaker": "user", "text": "hello"}),
            json!({"epoch": 1}),
        ),
        (
            "model_output_received",
            json!({"text": "hello"}),
            json!({"epoch": 1}),
        ),
        (
            "function_call_received",
            json!({"name": "look", "args": {}}),
            json!({"id": "another"}),
        ),
        (
            "function_call_received",
            json!({"name": "look", "args": {}}),
            json!({"invalid_args": "n is missing"}),
        ),
        ("turn_completed", json!({}), json!({"reason": "LENGTH"})),
        (
            "phase_entered",
            json!({"phase": "inform"}),
            json!({"from": "verify"}),
        ),
        (
            "session_closed",
            json!({"reason": "done", "by": ada()}),
            json!({"by": {"name": "bob"}}),
        ),
        (
            "frame_rejected",
            json!({"problem": "not JSON"}),
            json!({"epoch": 1}),
        ),
    ];
    for (n, (kind, mut body, besides)) in pairs.into_iter().enumerate() {
        if !matches!(kind, "phase_entered" | "session_closed") {
            body["epoch"] = 2.into();
        }
        let mut other = body.clone();
        for (field, value) in besides.as_object().unwrap() {
            match value {
                Value::Object(_) => other[field]["name"] = value["name"].clone(),
                _ => other[field] = value.clone(),
            }
        }
        let [a, b, later] = ["a", "b", "later"].map(|it| format!("{it}{n}"));
        journal(&bench, &a, &[said("hello"), (kind, body.clone())]);
        journal(&bench, &b, &[said("hello"), (kind, other)]);
        journal_at(&bench, &later, 1_000, &[said("hello"), (kind, body)]);
        for it in [&b, &later] {
            bench.run(&format!("diff {a} {it}")).ends_with(0);
            let exact = bench.run(&format!("diff {a} {it} --exact"));
            exact.ends_with(5).prints(&[kind]);
        }
        let again = format!("again{n}");
        bench.run(&format!("backup {a} {again}")).ends_with(0);
        bench.run(&format!("diff {a} {again} --exact")).ends_with(0);
    }
}

#[test]
fn two_runs_of_one_conversation_have_no_difference() {
    let bench = Bench::new();
    bench.run("demo --approve --journal first").ends_with(0);
    bench.run("demo --approve --journal second").ends_with(0);
    bench
        .run("diff first second")
        .ends_with(0)
        .prints(&["No difference: ", " turns, ", " calls"]);
    let (first, second) = (bench.session("first"), bench.session("second"));
    let both = format!("diff first:{first} second:{} --json", &second[..8]);
    let compared = bench.run(&both).ends_with(0).json();
    assert_eq!(
        (&compared["same"], &compared["differences"]),
        (&true.into(), &0.into())
    );
    assert!(compared["calls"]["a"].as_u64() > Some(1), "{compared}");
    bench.run("diff first second --exact").ends_with(5);
    bench.run(&format!("diff first {first}")).ends_with(0);
}

#[test]
fn approval_and_denial_differ() {
    let bench = Bench::new();
    imported(&bench, "approved");
    imported(&bench, "denied");
    let compared = bench.run("diff approved denied").ends_with(5);
    insta::assert_snapshot!("approval_and_denial", compared.out);
    let lines = bench
        .run("diff approved denied --json")
        .ends_with(5)
        .json_lines();
    let (last, found) = lines.split_last().unwrap();
    assert_eq!(last["differences"], found.len());
    let kinds: Vec<&str> = found
        .iter()
        .filter_map(|it| it["difference"].as_str())
        .collect();
    assert!(kinds.contains(&"decision_changed"), "{kinds:?}");
}

#[test]
fn wrong_session_is_answered_with_the_right_form() {
    let bench = Bench::new();
    imported(&bench, "approved");
    bench
        .run("diff nothing nowhere")
        .fails(2, "not-a-session")
        .prints_error(&["JOURNAL:SESSION", "nothing"]);
    bench
        .run("diff nowhere:0190 approved")
        .fails(1, "no-journal");
    bench.run("diff approved 0f0f").fails(1, "unknown-session");
}

#[test]
fn pauses_are_counted_apart_from_state_changes() {
    let (bench, story) = (Bench::new(), "paused_over_a_restart");
    imported(&bench, story);
    let same = bench.run(&format!("diff {story} {story}")).ends_with(0);
    same.prints(&["No difference: 1 turn, 1 call, 0 state changes, 4 records of pauses\n"]);
}
