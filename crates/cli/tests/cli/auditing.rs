//! What `recount audit decisions` answers about the demo's journal, and about a journal of sessions
//! that were told before.

use std::fs;
use std::path::Path;

use recount_journal::DiskJournal;
use serde_json::Value;

use crate::damage::flip;
use crate::program::{Bench, Run};

/// A journal of the corpus, imported; its sessions, ids and times are the same for ever.
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
fn a_table_says_who_let_run_what_and_cuts_nothing_in_a_pipe() {
    let bench = with_story("every_policy_and_a_restart");
    let told = bench.run("audit decisions j").ends_with(0);
    assert!(!told.out.contains('…'));
    insta::assert_snapshot!(told.out);
    let full = bench.run("audit decisions j --full").ends_with(0);
    assert!(full.out.len() > told.out.len() && !full.out.contains('…'));
}

#[test]
fn below_a_call_stands_what_people_were_asked_about_it() {
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
        told.extend(calls.skip(1).map(str::to_owned));
        let cut = bench.run("audit decisions j").ends_with(0).out;
        assert!(!cut.contains("      asked "), "{cut}");
    }
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn the_demo_is_told_with_its_approvals_and_its_failures() {
    let bench = Bench::with_demo();
    let id = bench.session("demo");
    bench.run("audit decisions demo").ends_with(0).says(&[
        &id,
        "support",
        "ticket-1001",
        "channel=chat",
        "refund {\"order_id\":\"1001\",",
        "approved automatically by program ",
        "allowed, rule default  ",
        "  verdicts: 3 allowed by rule, 1 approved automatically\n",
        "  without confirmation: 4 calls ran\n",
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
fn the_calls_of_an_agent_are_told_with_the_call_that_made_them() {
    let bench = with_story("an_agent_whose_call_was_approved_after_a_restart");
    let run = |form: &str| bench.run(&format!("audit decisions j {form}")).ends_with(0);
    run("--full").says(&[
        "look in #5 {\"account\":7}",
        "pay in #5 {\"cents\":4200}",
        "till {",
    ]);
    let csv = run("--csv").out;
    let column = |line: &str| line.rsplit(',').next().map(str::to_owned);
    let parents: Vec<String> = csv.lines().filter_map(column).collect();
    assert_eq!(parents, ["parent", "", "5", "5", "5"]);
    run("--html r.html");
    let report = fs::read_to_string(bench.path("r.html")).unwrap();
    assert!(report.contains("called by the agent of #5"), "{report}");
}

#[test]
fn filters_combine_and_none_is_no_error() {
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
        .run("audit decisions j --actor nobody")
        .ends_with(0)
        .says(&["0 calls of 1 session"]);
}

#[test]
fn what_ran_without_a_yes_can_be_asked_for() {
    let bench = Bench::with_demo();
    let told = |asked: &str| calls(&bench.run(&format!("audit decisions demo --json {asked}")));
    let (all, unconfirmed) = (told(""), told("--unconfirmed"));
    let ran = |it: &Value| it["ran_without_confirmation"] == true;
    let expected: Vec<Value> = all.into_iter().filter(ran).collect();
    assert_eq!(unconfirmed, expected);
    assert_eq!(unconfirmed.len(), 4);
    let refund = &told("--unconfirmed --tool refund")[0];
    assert_eq!(refund["verdict"], "approved_automatically");
    bench
        .run("audit decisions demo --unconfirmed --html r.html")
        .ends_with(0);
    let report = fs::read_to_string(bench.path("r.html")).unwrap();
    assert!(report.contains("unconfirmed"));
}

#[test]
fn what_nobody_has_is_said_to_be_nowhere_with_what_is_near() {
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
            "note: no call that was read is to a tool {:?}; did you mean {tool:?}?\n",
            tool.to_uppercase()
        ),
        format!(
            "note: no actor named {:?} did anything about a call; did you mean {by:?}?\n",
            by.to_uppercase()
        ),
        "note: no call that was read has the label \"=\"\n".to_owned(),
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
fn what_cannot_be_asked_for_is_answered_with_what_can() {
    let bench = with_story("approved");
    bench
        .run("audit decisions j --verdict aproved")
        .fails(2, "not-a-verdict")
        .complains(&["did you mean approved?", "allowed_by_rule, ", "gate_waived"]);
    bench
        .run("audit decisions j --outcome done")
        .fails(2, "not-an-outcome")
        .complains(&["returned, failed, "]);
    bench
        .run("audit decisions j --from yesterday")
        .fails(2, "not-a-time")
        .complains(&["\"yesterday\"", "2026-11-01"]);
    bench
        .run("audit decisions j --from 2026-02-01 --to 2026-01-01")
        .fails(2, "not-a-time")
        .complains(&["--from before --to"]);
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
            .says(&[
                "1 call of 1 session",
                "note: read up to commit ",
                "beside the process",
            ]);
    }
    let report = fs::read_to_string(bench.path("report.html")).unwrap();
    assert!(report.contains("read up to commit "));
    bench.run("backup j copy").ends_with(0);
    bench
        .run("audit decisions copy")
        .ends_with(0)
        .says(&["1 call of 1 session"]);
    drop(journal);
}

#[test]
fn a_table_for_spreadsheets_has_one_line_a_call_and_as_many_cells_in_each() {
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
    assert_eq!(cell("session"), json[0]["session"]);
    assert_eq!(cell("call_hash"), json[0]["call_hash"]);
    assert_eq!(
        (cell("verdict"), cell("outcome"), cell("rule")),
        ("approved", "returned", "confirm")
    );
    assert_eq!(cell("answered_by"), json[0]["questions"][0]["by"]["name"]);
    assert_eq!(
        cell("waited_us"),
        json[0]["questions"][0]["waited_us"].to_string()
    );
    let args: Value = serde_json::from_str(cell("args")).unwrap();
    assert_eq!(args, json[0]["args"]);
    assert!(cell("refused_answers").ends_with(": already_answered"));
    assert_eq!(
        (cell("ran_without_confirmation"), cell("unread")),
        ("false", "")
    );
}

/// The cells of each record, as RFC 4180 says it.
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
fn a_report_is_one_file_that_appears_whole_with_both_verdicts_on_top() {
    let bench = with_story("every_policy_and_a_restart");
    // An earlier report gives way where it is told to.
    bench
        .run("audit decisions j --html report.html --tool nothing")
        .says(&["Wrote report.html: 0 calls"]);
    bench
        .run("audit decisions j --html report.html --force")
        .ends_with(0)
        .says(&[
            "Wrote report.html: ",
            "Every hash and every chain holds",
            "Every decision follows again",
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
        .complains(&["nowhere"]);
}

#[test]
fn a_report_takes_the_place_of_nothing_else() {
    let bench = with_story("approved");
    let occupied = |name: &str| {
        bench
            .run(&format!("audit decisions j --html {name}"))
            .fails(1, "occupied")
            .complains(&[name, "nothing was changed"]);
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
            .complains(&[within]);
    }
    assert!(!bench.path("j/report.html").exists());
    bench.run("audit decisions j").ends_with(0);
}

#[test]
fn of_a_damaged_journal_there_is_a_report_that_says_so() {
    let bench = Bench::with_demo();
    bench
        .run("audit decisions demo --html report.html")
        .ends_with(0);
    flip(&bench, b"amount_cents");
    bench
        .run("audit decisions demo --html report.html --force")
        .ends_with(4)
        .says(&[
            "Wrote report.html: no call, since the journal cannot be read",
            "The records are not what was written: ",
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
            .complains(&["no call is told of a damaged journal", "recount repair"]);
    }
}
