//! Every verdict has its counts, and only a root that was kept elsewhere anchors a journal.

use std::fs;
use std::path::Path;
use std::process::Command;

use recount::session::ObjectHash;
use serde_json::Value;

use crate::program::Bench;

/// An export of two sessions, and its root.
fn two_sessions(bench: &Bench) -> String {
    for name in ["approved", "denied"] {
        let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .join("fixtures/journals/rules-1");
        let text = fs::read(file.join(format!("{name}.jsonl"))).unwrap();
        recount::ledger::import(&text[..], bench.path(name), None).unwrap();
        bench.run(&format!("export {name} --out {name}.jsonl"));
    }
    let export = |name: &str| bench.run(&format!("verify {name}.jsonl --json")).json();
    export("approved")["root"].as_str().unwrap().to_owned()
}

/// The exit code and the output of the script; `None` without Python, which `.ci/run` has.
fn script(bench: &Bench, arguments: &[&str]) -> Option<(Option<i32>, String)> {
    let script =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("docs/verify_export.py");
    let mut command = Command::new("python3");
    let output = command
        .arg(script)
        .args(arguments)
        .current_dir(bench.path("."))
        .output();
    let output = output.ok()?;
    Some((
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
    ))
}

#[test]
fn export_without_its_only_session_is_consistent_at_most() {
    let bench = Bench::new();
    let root = two_sessions(&bench);
    // The trailer of a forger: the root of an empty tree is the hash of the empty string.
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let trailer = format!(
        "{{\"trailer\":{{\"records\":0,\"objects\":0,\"heads\":{{}},\"root\":\"{empty}\"}}}}\n"
    );
    bench.write("gone.jsonl", &trailer);
    bench.run("verify gone.jsonl").ends_with(0).prints(&[
        "Consistent export, not anchored: 0 sessions, 0 records",
        "there is no record, so nothing was verified",
    ]);
    let told = bench.run("verify gone.jsonl --json").ends_with(0).json();
    assert_eq!(told["verdict"], "consistent");
    assert_eq!(
        (&told["from"], &told["anchor"]),
        (&Value::Null, &Value::Null)
    );
    let anchored = bench.run(&format!("verify gone.jsonl --root {root}"));
    anchored.ends_with(4).prints(&[
        "Damaged export: 1 finding in 0 sessions",
        &format!("expected the root {root}, which was kept elsewhere, found {empty}"),
    ]);
    if let Some((code, words)) = script(&bench, &["gone.jsonl"]) {
        assert_eq!(code, Some(0));
        assert!(words.starts_with("consistent, not anchored: 0 sessions, 0 records"));
        let (code, words) = script(&bench, &["gone.jsonl", &root]).unwrap();
        assert_eq!(code, Some(4));
        assert!(
            words.contains(&format!("expected the root {root}")),
            "{words}"
        );
    }
}

#[test]
fn verdict_has_records_times_and_root() {
    let bench = Bench::new();
    let root = two_sessions(&bench);
    let told = bench
        .run("verify approved.jsonl --json")
        .ends_with(0)
        .json();
    let text = fs::read_to_string(bench.path("approved.jsonl")).unwrap();
    let records: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &Value| line.get("seq").is_some())
        .collect();
    assert_eq!(told["records"], records.len());
    let mut times: Vec<_> = records
        .iter()
        .map(|it| it["at"].as_str().unwrap())
        .collect();
    times.sort_unstable();
    let (from, to) = (times[0], times[times.len() - 1]);
    assert!(from < to);
    assert_eq!((&told["from"], &told["to"]), (&from.into(), &to.into()));

    let [day, time] = [&to[..10], &to[11..19]];
    let reach = format!("1 session, {} records, 2 objects, ", records.len());
    let until = format!("to {day} {time} UTC");
    bench.run("verify approved.jsonl").ends_with(0).prints(&[
        "Consistent export, not anchored: ",
        &reach,
        &until,
        "--root HEX",
    ]);
    let anchored = bench.run(&format!("verify approved.jsonl --root {root}"));
    anchored
        .ends_with(0)
        .prints(&["Sound export, anchored to the given root: ", &reach, &until]);
    let anchored = bench.run(&format!("verify approved.jsonl --json --root {root}"));
    let anchored = anchored.ends_with(0).json();
    assert_eq!(anchored["verdict"], "anchored");
    assert_eq!(
        (&anchored["anchor"], &anchored["root"]),
        (&root.clone().into(), &root.into())
    );
}

#[test]
fn export_with_another_root_is_damaged() {
    let bench = Bench::new();
    let root = two_sessions(&bench);
    for path in ["denied.jsonl", "denied"] {
        bench.run(&format!("verify {path}")).ends_with(0);
        let told = bench.run(&format!("verify {path} --json --root {root}"));
        let told = told.ends_with(4).json();
        assert_eq!(
            (&told["verdict"], &told["sound"]),
            (&"damaged".into(), &false.into())
        );
    }
    bench
        .run("verify denied --root 12")
        .ends_with(2)
        .prints_error(&["a hash is 64 lower-case hex digits, not \"12\""]);
}

#[test]
fn a_report_is_anchored_as_verify_is() {
    let bench = Bench::new();
    two_sessions(&bench);
    let audit = |options: &str| bench.run(&format!("audit decisions approved {options}"));
    audit("--html plain.html")
        .ends_with(0)
        .prints(&["No root that was kept elsewhere was given"]);
    let plain = fs::read_to_string(bench.path("plain.html")).unwrap();
    assert!(plain.contains("<h2>Verified: consistent, not anchored</h2>"));

    let root = bench.run("verify approved --json").json()["root"].clone();
    let root = root.as_str().unwrap();
    audit(&format!("--html anchored.html --root {root}")).ends_with(0);
    let anchored = fs::read_to_string(bench.path("anchored.html")).unwrap();
    assert!(anchored.contains("<h2>Verified: sound, anchored</h2>"));

    let other = bench.run("verify denied --json").json()["root"].clone();
    audit(&format!(
        "--html other.html --root {}",
        other.as_str().unwrap()
    ))
    .ends_with(4);
    let other = fs::read_to_string(bench.path("other.html")).unwrap();
    assert!(other.contains("<h2>Verified: damaged</h2>"));
}

#[test]
fn replay_notes_that_hashes_are_not_checked() {
    let bench = Bench::new();
    two_sessions(&bench);
    bench.run("replay approved").ends_with(0).prints(&[
        "Replay matches the record: 1 session, ",
        " records, ",
        "a replay does not check hashes; `recount verify` checks whether records were altered",
    ]);
}

#[test]
fn session_in_clear_cannot_be_erased() {
    let bench = Bench::new();
    two_sessions(&bench);
    let session = bench.session("approved");
    let erase = format!("erase approved {session} --reason ticket --yes");
    bench
        .run(&erase)
        .fails(3, "in-clear")
        .prints_error(&[&format!("session {session} was never sealed")]);
}

/// A forged time or session must not rewrite the verdict on a terminal.
#[test]
fn script_prints_no_control_characters_of_an_export() {
    let bench = Bench::new();
    let zeros = "0".repeat(64);
    let record = |session: &str, seq: u32| {
        let at = r"\u001b[2Ksound";
        let head = format!(r#""session":"{session}","seq":{seq},"at":"{at}","kind":"x""#);
        format!(r#"{{{head},"prev":"{zeros}","body":{{}}}}"#)
    };
    let first = record("s", 1);
    let leaf = ObjectHash::of(&[b"\0", first.as_bytes()].concat());
    let heads = format!(r#""heads":{{"s":{{"seq":1,"hash":"{leaf}"}}}},"root":"{leaf}""#);
    let trailer = format!(r#"{{"trailer":{{"records":1,"objects":0,{heads}}}}}"#);
    bench.write("time.jsonl", &format!("{first}\n{trailer}\n"));
    bench.write("session.jsonl", &format!("{}\n", record(r"\u001b[2K", 5)));
    for (file, expected) in [("time.jsonl", 0), ("session.jsonl", 4)] {
        if let Some((code, words)) = script(&bench, &[file]) {
            assert_eq!(code, Some(expected), "{words}");
            assert!(
                !words.contains('\u{1b}') && words.contains(r"\x1b"),
                "{words}"
            );
        }
    }
}
