//! Backups, restored journals, exports and imports have the same open requests as the original.

use std::fs;
use std::path::Path;

use recount_journal::DiskJournal;

use crate::answering::{parked, refunds};
use crate::program::Bench;

/// Asserts that the command fails like this and creates nothing.
fn refused(bench: &Bench, command: &str, exit: i32, code: &str, words: &[&str]) {
    let names = || {
        let entries = fs::read_dir(bench.path(".")).unwrap();
        entries
            .map(|it| it.unwrap().file_name())
            .collect::<std::collections::BTreeSet<_>>()
    };
    let before = names();
    bench.run(command).fails(exit, code).prints_error(words);
    assert_eq!(names(), before, "{command}");
}

fn export(bench: &Bench, journal: &str) -> String {
    bench.run(&format!("export {journal}")).ends_with(0).out
}

#[test]
fn open_request_is_imported_answered_and_resumed() {
    let bench = Bench::new();
    let (_simulator, url, request) = parked(&bench);
    bench.run("export j --out j.jsonl").ends_with(0);
    let run = bench.run("import j.jsonl again --json").ends_with(0).json();
    assert_eq!((&run["sessions"], &run["objects"]), (&1.into(), &2.into()));
    let report = bench.run("verify j.jsonl --json").json();
    assert_eq!(
        (&run["root"], &run["records"]),
        (&report["root"], &report["records"])
    );
    for looked in ["pending", "sessions"] {
        let [first, second] = ["j", "again"].map(|journal| {
            bench
                .run(&format!("{looked} {journal} --json"))
                .ends_with(0)
                .out
        });
        assert_eq!(first, second);
        assert!(!first.is_empty());
    }
    assert_eq!(export(&bench, "again"), export(&bench, "j"));
    bench
        .run("verify again")
        .ends_with(0)
        .prints(&["Consistent journal"]);
    bench.run("replay again").ends_with(0);

    bench.run(&format!("approve again {request}")).ends_with(0);
    let resume = format!(
        "run --tools tools.toml --endpoint {url} --journal again --resume {}",
        bench.session("again")
    );
    bench
        .run(&resume)
        .ends_with(0)
        .prints(&["refund started, attempt 1", "“It is decided.”"]);
    assert_eq!(refunds(&bench), 1);
    bench.run("verify again").ends_with(0);

    // A request stays answered in an import of the journal.
    bench.run("export again --out settled.jsonl").ends_with(0);
    bench
        .run("import settled.jsonl settled")
        .ends_with(0)
        .prints(&["Imported 1 session, "]);
    bench
        .run(&format!("deny settled {request}"))
        .fails(3, "already-answered");
}

/// The objects and records of an export, and its root. The leaf indexes of a session are others in
/// another journal.
fn contents(export: &str) -> (Vec<&str>, String) {
    let (trailer, lines): (Vec<&str>, Vec<&str>) = export
        .lines()
        .filter(|line| !line.starts_with("{\"leaf\":"))
        .partition(|line| line.starts_with("{\"trailer\":"));
    let trailer: serde_json::Value = serde_json::from_str(trailer[0]).unwrap();
    (lines, trailer["trailer"]["root"].to_string())
}

#[test]
fn one_session_is_imported_alone() {
    let bench = Bench::with_demo();
    let id = bench.session("demo");
    bench
        .run(&format!("export demo --session {id} --out one.jsonl"))
        .ends_with(0);
    bench.run("import one.jsonl one").ends_with(0);
    assert_eq!(bench.session("one"), id);
    let alone = bench
        .run(&format!("export one --session {id}"))
        .ends_with(0)
        .out;
    let before = fs::read_to_string(bench.path("one.jsonl")).unwrap();
    assert_eq!(contents(&alone), contents(&before));
    bench.run("replay one").ends_with(0);
}

#[test]
fn every_journal_of_the_corpus_is_imported_byte_for_byte() {
    let bench = Bench::new();
    let corpus =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("fixtures/journals/rules-1");
    let mut files = 0;
    for entry in fs::read_dir(corpus).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let imported =
            recount::ledger::import(&fs::read(&file).unwrap()[..], bench.path(&name), None);
        imported.unwrap();
        let id = bench.session(&name);
        let again = bench
            .run(&format!("export {name} --session {id}"))
            .ends_with(0)
            .out;
        let before = fs::read_to_string(&file).unwrap();
        assert_eq!(contents(&again), contents(&before), "{name}");
        files += 1;
    }
    assert!(files >= 20, "{files}");
}

#[test]
fn a_damaged_or_foreign_export_is_not_imported() {
    let bench = Bench::with_demo();
    let id = bench.session("demo");
    bench.run("export demo --out out.jsonl").ends_with(0);
    let text = fs::read_to_string(bench.path("out.jsonl")).unwrap();
    bench.write(
        "forged.jsonl",
        &text.replace("\"confirmed\":true", "\"confirmed\":false"),
    );
    let answered = text
        .lines()
        .find(|line| line.contains("\"confirmation_answered\""))
        .unwrap();
    let seq = serde_json::from_str::<serde_json::Value>(answered).unwrap()["seq"].to_string();
    let place = format!("session {id} seq {seq}");
    refused(
        &bench,
        "import forged.jsonl new",
        4,
        "damaged",
        &[&place, "recount verify"],
    );
    let cut: Vec<&str> = text.lines().take(9).collect();
    bench.write("cut.jsonl", &format!("{}\n", cut.join("\n")));
    refused(
        &bench,
        "import cut.jsonl new",
        4,
        "damaged",
        &["no trailer"],
    );
    refused(&bench, "import none.jsonl new", 1, "io", &["none.jsonl"]);
    refused(
        &bench,
        "import out.jsonl demo",
        1,
        "occupied",
        &["demo", "help: "],
    );
}

#[test]
fn missing_or_moved_object_is_found_despite_the_trailer() {
    let bench = Bench::with_demo();
    let text = export(&bench, "demo");
    let lines: Vec<&str> = text.lines().collect();
    let object = lines
        .iter()
        .position(|line| line.starts_with("{\"object\":"))
        .unwrap();
    let attached = lines
        .iter()
        .position(|line| line.contains("\"runner_attached\""))
        .unwrap();
    let record: serde_json::Value = serde_json::from_str(lines[attached]).unwrap();
    let place = format!(
        "session {} seq {}",
        record["session"].as_str().unwrap(),
        record["seq"]
    );
    let mut without = lines.clone();
    without.remove(object);
    let count = |text: &str| text.matches("{\"object\":").count();
    let trailer = lines[lines.len() - 1].replace(
        &format!("\"objects\":{}", count(&text)),
        &format!("\"objects\":{}", count(&text) - 1),
    );
    *without.last_mut().unwrap() = &trailer;
    let mut moved = lines.clone();
    let line = moved.remove(object);
    moved.insert(attached, line);
    for (name, lines) in [("without.jsonl", without), ("moved.jsonl", moved)] {
        bench.write(name, &format!("{}\n", lines.join("\n")));
        let missed = bench.run(&format!("verify {name}")).ends_with(4);
        missed.prints(&[&place, "does not stand before it"]);
        refused(
            &bench,
            &format!("import {name} new"),
            4,
            "damaged",
            &["names the object"],
        );
        let script =
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("docs/verify_export.py");
        let script = std::process::Command::new("python3")
            .arg(script)
            .arg(bench.path(name))
            .output();
        // Without Python only CI runs the script.
        if let Ok(output) = script {
            assert_eq!(output.status.code(), Some(4));
            assert!(String::from_utf8(output.stdout).unwrap().contains(&place));
        }
    }
}

#[test]
fn backup_of_a_journal_in_use_is_restored_and_resumed() {
    let bench = Bench::new();
    let (_simulator, url, request) = parked(&bench);
    // Another process has the journal open, so a command cannot read it.
    let held = DiskJournal::open_existing(bench.path("j")).unwrap();
    bench.run("sessions j").fails(1, "journal-in-use");
    let run = bench.run("backup j copy --json").ends_with(0).json();
    assert!(run["records"].as_u64().unwrap() > 5, "{run}");
    drop(held);
    bench
        .run("verify copy")
        .ends_with(0)
        .prints(&["Consistent journal"]);
    bench.run("backup j second").ends_with(0).prints(&[
        "Backed up ",
        " commits to second",
        "recount restore --verify second",
    ]);

    let restored = bench
        .run("restore --verify copy new --json")
        .ends_with(0)
        .json();
    assert_eq!(
        (&restored["records"], &restored["verified"]),
        (&run["records"], &true.into())
    );
    bench
        .run("restore copy newer")
        .ends_with(0)
        .prints(&["Restored "]);
    let root = |name: &str| {
        bench
            .run(&format!("verify {name} --json"))
            .ends_with(0)
            .json()["root"]
            .clone()
    };
    assert_eq!(
        (root("new"), root("newer")),
        (restored["root"].clone(), root("copy"))
    );
    bench.run(&format!("approve new {request}")).ends_with(0);
    let resume = format!(
        "run --tools tools.toml --endpoint {url} --journal new --resume {}",
        bench.session("new")
    );
    bench
        .run(&resume)
        .ends_with(0)
        .prints(&["refund started, attempt 1"]);
    assert_eq!(refunds(&bench), 1);
}

#[test]
fn damaged_backup_is_not_restored() {
    let bench = Bench::with_demo();
    bench.run("backup demo copy").ends_with(0);
    refused(&bench, "backup nope other", 1, "no-journal", &["nope"]);
    refused(
        &bench,
        "backup demo copy",
        1,
        "occupied",
        &["copy", "help: "],
    );
    refused(
        &bench,
        "restore demo new",
        1,
        "not-a-backup",
        &["BACKUP", "recount backup"],
    );
    refused(&bench, "restore copy demo", 1, "occupied", &["demo"]);
    let log = bench.path("copy/log/0000000000000001.log");
    let whole = fs::read(&log).unwrap();
    fs::write(&log, &whole[..whole.len() - 9]).unwrap();
    refused(
        &bench,
        "restore copy new",
        4,
        "damaged",
        &["the log ends at frame"],
    );
    bench
        .run("verify copy")
        .ends_with(4)
        .prints(&["Damaged journal"]);
    let mut flipped = whole;
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    fs::write(&log, &flipped).unwrap();
    refused(
        &bench,
        "restore copy new",
        4,
        "damaged",
        &["session ", " seq "],
    );
    refused(
        &bench,
        "backup copy other",
        4,
        "damaged",
        &["session ", " seq "],
    );
}
