//! `recount audit decisions` over the journal of the demo, and over journals of the corpus.

use std::fs;
use std::path::Path;

use recount_journal::DiskJournal;
use serde_json::Value;

use crate::damage::flip;
use crate::program::{Bench, Run};

/// An imported journal of the corpus. Its sessions, ids and times never change.
fn with_story(name: &str) -> Bench {
    let bench = Bench::new();
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let file = root.join(format!("fixtures/journals/rules-1/{name}.jsonl"));
    fs::copy(file, bench.path("story.jsonl")).unwrap();
    bench.run("import story.jsonl j").ends_with(0);
    bench
}

fn calls(run: &Run) -> Vec<Value> {
    let mut lines = run.json_lines();
    lines.retain(|it| it["row"] == "call");
    lines
}

#[test]
fn table_in_a_pipe_is_not_cut() {
    let bench = with_story("every_policy_and_a_restart");
    let told = bench.run("audit decisions j").ends_with(0);
    assert!(!told.out.contains('…'));
    insta::assert_snapshot!(told.out);
    let full = bench.run("audit decisions j --full").ends_with(0);
    assert!(!full.out.contains('…'));
}

#[test]
fn requests_are_shown_below_their_call() {
    let mut told = Vec::new();
    for story in [
        "answered_twice",
        "asked_by_the_tool_over_a_restart",
        "cut_off_asked_and_denied",
        "expired",
    ] {
        let bench = with_story(story);
        let full = bench.run("audit decisions j --full").ends_with(0).out;
        let calls = full.lines().take_while(|it| !it.ends_with(" of 1 session"));
        told.extend(calls.skip(2).map(str::to_owned));
        let cut = bench.run("audit decisions j").ends_with(0).out;
        assert!(!cut.contains("      approval requested"), "{cut}");
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn report_of_the_demo_has_its_approvals_and_failures() {
    let bench = Bench::with_demo();
    let id = bench.session("demo");
    bench.run("audit decisions demo").ends_with(0).prints(&[
        &id,
        "support",
        "ticket-1001",
        "channel=chat",
        "refund {\"order_id\":\"1001\",",
        "approved automatically by program ",
        "allowed, no policy asked  ",
        "  verdicts: 3 allowed without approval, 1 approved automatically\n",
        "  ran without a person’s approval: 4 calls\n",
        "journal opened after a crash: ",
    ]);
    let json = bench
        .run("audit decisions demo --json --tool refund")
        .ends_with(0);
    let calls = calls(&json);
    assert_eq!(calls.len(), 1);
    let question = &calls[0]["questions"][0];
    assert_eq!(calls[0]["verdict"], "approved_automatically");
    assert_eq!(question["hint"], "Refund money to the customer?");
    assert_eq!(question["by"]["authenticated_by"], "os_user");
    assert_eq!(calls[0]["args"]["amount_cents"], 4200);
    assert!(question["waited_us"].as_i64() > Some(0));
    let totals = json.json_lines().pop().unwrap();
    assert_eq!(
        (&totals["row"], &totals["calls"]),
        (&"totals".into(), &1.into())
    );
}

#[test]
fn calls_of_an_agent_have_their_parent() {
    let bench = with_story("an_agent_whose_call_was_approved_after_a_restart");
    let run = |form: &str| bench.run(&format!("audit decisions j {form}")).ends_with(0);
    run("--full").prints(&[
        "look in #5 {\"account\":7}",
        "pay in #5 {\"cents\":4200}",
        "till {",
    ]);
    let csv = run("--csv").out;
    // The columns after it are empty.
    let header = csv.lines().next().unwrap();
    let after = header
        .rsplit(',')
        .position(|it| it == "parent_call_seq")
        .unwrap();
    let column = |line: &str| line.rsplit(',').nth(after).map(str::to_owned);
    let parents: Vec<String> = csv.lines().filter_map(column).collect();
    assert_eq!(parents, ["parent_call_seq", "", "5", "5", "5"]);
    run("--html r.html");
    let report = fs::read_to_string(bench.path("r.html")).unwrap();
    assert!(report.contains("called by the agent of #5"), "{report}");
}

#[test]
fn filters_combine_and_may_match_nothing() {
    let bench = with_story("answered_twice");
    let all = calls(&bench.run("audit decisions j --json").ends_with(0));
    let by = all[0]["questions"][0]["by"]["name"].as_str().unwrap();
    let day = &all[0]["called_at"].as_str().unwrap()[..10];
    let found = |options: &str| {
        let run = bench.run(&format!("audit decisions j --json {options}"));
        calls(&run.ends_with(0)).len()
    };
    assert_eq!(
        found(&format!(
            "--actor {by} --from {day} --to {day} --verdict approved"
        )),
        1
    );
    assert_eq!(found(&format!("--actor {by} --verdict denied")), 0);
    assert_eq!(
        found("--verdict denied --verdict approved --outcome returned"),
        1
    );
    assert_eq!(
        (
            found("--to 2020-01-01"),
            found("--from 2199-01-01T00:00:00Z")
        ),
        (0, 0)
    );
    bench
        .run("audit decisions j --actor stranger")
        .ends_with(0)
        .prints(&["0 calls of 1 session"]);
}

#[test]
fn unconfirmed_selects_runs_without_approval() {
    let bench = Bench::with_demo();
    let found = |asked: &str| calls(&bench.run(&format!("audit decisions demo --json {asked}")));
    let (all, unconfirmed) = (found(""), found("--unconfirmed"));
    let ran = |it: &Value| it["ran_without_confirmation"] == true;
    let expected: Vec<Value> = all.into_iter().filter(ran).collect();
    assert_eq!(unconfirmed, expected);
    assert_eq!(unconfirmed.len(), 4);
    let refund = &found("--unconfirmed --tool refund")[0];
    assert_eq!(refund["verdict"], "approved_automatically");
    bench
        .run("audit decisions demo --unconfirmed --html r.html")
        .ends_with(0);
    let report = fs::read_to_string(bench.path("r.html")).unwrap();
    assert!(report.contains("unconfirmed"));
}

#[test]
fn unknown_names_are_noted_with_similar_ones() {
    let bench = with_story("answered_twice");
    let json = calls(&bench.run("audit decisions j --json").ends_with(0));
    let tool = json[0]["tool"].as_str().unwrap();
    let by = json[0]["questions"][0]["by"]["name"].as_str().unwrap();
    let asked = format!(
        "audit decisions j --tool {} --actor {} --label =",
        tool.to_uppercase(),
        by.to_uppercase()
    );
    let notes = [
        format!(
            "note: no call to a tool {:?} was found; did you mean {tool:?}?\n",
            tool.to_uppercase()
        ),
        format!(
            "note: no answer or other act by {:?} was found; did you mean {by:?}?\n",
            by.to_uppercase()
        ),
        "note: no call with the label \"=\" was found\n".to_owned(),
    ];
    let run = bench.run(&asked).ends_with(0);
    assert!(run.out.ends_with(&notes.concat()), "{run:#?}");
    for form in ["--json", "--csv"] {
        let run = bench.run(&format!("{asked} {form}"));
        assert_eq!((run.code, run.err), (0, notes.concat()));
        assert!(!run.out.contains("note:"));
    }
    let found = bench.run(&format!("audit decisions j --tool {tool} --actor {by}"));
    assert!(!found.out.contains("note:"));
}

#[test]
fn wrong_filters_are_answered_with_right_ones() {
    let bench = with_story("approved");
    bench
        .run("audit decisions j --verdict aproved")
        .fails(2, "not-a-verdict")
        .prints_error(&["did you mean approved?", "allowed_by_rule, ", "gate_waived"]);
    bench
        .run("audit decisions j --outcome done")
        .fails(2, "not-an-outcome")
        .prints_error(&["returned, failed, "]);
    bench
        .run("audit decisions j --from yesterday")
        .fails(2, "not-a-time")
        .prints_error(&["\"yesterday\"", "2026-11-01"]);
    bench
        .run("audit decisions j --from 2026-02-01 --to 2026-01-01")
        .fails(2, "not-a-time")
        .prints_error(&["--from before --to"]);
    bench.run("audit decisions nope").fails(1, "no-journal");
    let both = bench.run("audit decisions j --json --csv");
    assert_eq!(both.code, 2);
}

#[test]
fn journal_in_use_is_audited_up_to_its_last_commit() {
    let bench = with_story("approved");
    let journal = DiskJournal::options(bench.path("j")).open().unwrap();
    for form in ["", " --html report.html"] {
        bench
            .run(&format!("audit decisions j{form}"))
            .ends_with(0)
            .prints(&[
                "1 call of 1 session",
                "note: read up to commit ",
                "another process has the journal open",
            ]);
    }
    let report = fs::read_to_string(bench.path("report.html")).unwrap();
    assert!(report.contains("read up to commit "));
    bench.run("backup j copy").ends_with(0);
    bench
        .run("audit decisions copy")
        .ends_with(0)
        .prints(&["1 call of 1 session"]);
    drop(journal);
}

#[test]
fn csv_has_a_line_for_each_call_and_equal_numbers_of_cells() {
    let bench = with_story("answered_twice");
    let csv = bench.run("audit decisions j --csv").ends_with(0).out;
    let records = records(&csv);
    assert_eq!(records.len(), 2);
    assert_eq!(records[0].len(), records[1].len());
    let cell = |column: &str| {
        let at = records[0].iter().position(|it| it == column).unwrap();
        records[1][at].as_str()
    };
    let json = calls(&bench.run("audit decisions j --json"));
    assert_eq!(cell("session_id"), json[0]["session"]);
    assert_eq!(cell("call_hash"), json[0]["call_hash"]);
    assert_eq!(
        (cell("verdict"), cell("outcome"), cell("policy_rule")),
        ("approved", "returned", "confirm")
    );
    assert_eq!(cell("answered_by"), json[0]["questions"][0]["by"]["name"]);
    assert_eq!(
        cell("question_open_microseconds"),
        json[0]["questions"][0]["waited_us"].to_string()
    );
    let args: Value = serde_json::from_str(cell("arguments")).unwrap();
    assert_eq!(args, json[0]["args"]);
    assert!(cell("refused_answers").ends_with(": already_answered"));
    assert_eq!(
        (cell("ran_without_confirmation"), cell("not_shown_reason")),
        ("false", "")
    );
}

/// The cells of each record of RFC 4180.
fn records(csv: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut cell, mut quoted) =
        (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = csv.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut cell)),
            '\r' if !quoted => assert_eq!(chars.peek(), Some(&'\n')),
            '\n' if !quoted => {
                record.push(std::mem::take(&mut cell));
                records.push(std::mem::take(&mut record));
            }
            c => cell.push(c),
        }
    }
    assert!(
        cell.is_empty() && record.is_empty() && !quoted,
        "the last record ends with a line"
    );
    records
}

#[test]
fn report_is_one_complete_file_with_both_verdicts() {
    let bench = with_story("every_policy_and_a_restart");
    // An earlier report is replaced with --force.
    bench
        .run("audit decisions j --html report.html --tool nothing")
        .prints(&["Wrote report.html: 0 calls"]);
    bench
        .run("audit decisions j --html report.html --force")
        .ends_with(0)
        .prints(&[
            "Wrote report.html: ",
            "Every hash and every chain holds",
            "Every decision was made again",
        ]);
    let html = fs::read_to_string(bench.path("report.html")).unwrap();
    let root = bench.run("verify j --json").json()["root"].clone();
    for part in [
        "Verified: consistent, not anchored",
        "Replayed: the same decisions",
        root.as_str().unwrap(),
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("<script") && html.ends_with("</html>\n"));
    let names = fs::read_dir(bench.path("")).unwrap();
    let drafts = names.filter(|it| {
        it.as_ref()
            .unwrap()
            .path()
            .extension()
            .is_some_and(|it| it == "part")
    });
    assert_eq!(drafts.count(), 0);
    bench
        .run("audit decisions j --html nowhere/report.html")
        .fails(1, "io")
        .prints_error(&["nowhere"]);
}

#[test]
fn report_replaces_no_other_file() {
    let bench = with_story("approved");
    let occupied = |name: &str| {
        bench
            .run(&format!("audit decisions j --html {name}"))
            .fails(1, "occupied")
            .prints_error(&[name, "nothing was changed"]);
    };
    bench.write("notes.html", "<!doctype html>\n<p>mine</p>\n");
    occupied("notes.html");
    let notes = fs::read_to_string(bench.path("notes.html")).unwrap();
    assert_eq!(notes, "<!doctype html>\n<p>mine</p>\n");
    fs::create_dir(bench.path("d")).unwrap();
    occupied("d");
    bench.write("empty.html", "");
    occupied("empty.html");
    bench
        .run("audit decisions j --html empty.html --force")
        .ends_with(0);

    for within in ["j/report.html", "j/log/report.html", "d/../j/report.html"] {
        bench
            .run(&format!("audit decisions j --html {within}"))
            .fails(2, "within-journal")
            .prints_error(&[within]);
    }
    assert!(!bench.path("j/report.html").exists());
    bench.run("audit decisions j").ends_with(0);
}

#[test]
fn damaged_journal_has_a_report_about_the_damage() {
    let bench = Bench::with_demo();
    bench
        .run("audit decisions demo --html report.html")
        .ends_with(0);
    flip(&bench, b"amount_cents");
    bench
        .run("audit decisions demo --html report.html --force")
        .ends_with(4)
        .prints(&[
            "Wrote report.html: no call, because the journal cannot be read",
            "The records were damaged or altered: ",
        ]);
    let html = fs::read_to_string(bench.path("report.html")).unwrap();
    for part in ["Verified: damaged", "Not replayed", "recount repair"] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("Verified: consistent, not anchored") && html.ends_with("</html>\n"));
    for form in ["", " --json", " --csv"] {
        let run = bench.run(&format!("audit decisions demo{form}"));
        assert_eq!(run.out, "");
        run.fails(4, "damaged")
            .prints_error(&["no call of a damaged journal is shown", "recount repair"]);
    }
}
